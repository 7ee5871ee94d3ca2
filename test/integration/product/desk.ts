/** The product routers on a real store and a free port; only the guard is a stand-in: the key is the tenant. */
import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import type { Context } from '../../../src/context';
import type { BusEvent } from '../../../src/contracts/event';
import type { Principal } from '../../../src/contracts/principal';
import { createSealer } from '../../../src/domain/sealed-token';
import type { Guard } from '../../../src/http/guard';
import { serviceRouter } from '../../../src/http/mount';
import { opening } from '../../../src/http/send';
import { productBound } from '../../../src/services/product';
import { openStore, type OpenStore } from '../../../src/store/connect';
import type { PendingEvents } from '../../../src/store/resources';
import { STACK_VARIABLE } from '../../support/shared-stack';

export interface Answer {
  status: number;
  body: Record<string, unknown>;
  headers: Headers;
}

export interface Request {
  org?: string;
  body?: unknown;
  headers?: Record<string, string>;
}

export interface Desk {
  baseUrl: string;
  store: OpenStore;
  context: Context;
  /** Moves the clock of the handlers. */
  setNow(now: Date | null): void;
  call(method: string, path: string, request?: Request): Promise<Answer>;
  /** What was handed over since the last call. */
  takeEvents(): BusEvent[];
  /** Leaves hand-overs to the relay while true. */
  holdOutbox(held: boolean): void;
  stop(): Promise<void>;
}

const principalOf = (org: string): Principal => ({
  kind: 'key',
  id: `key_${org}`,
  keyId: `key_${org}`,
  name: org,
  orgId: org,
  tier: 'enterprise',
  keyTier: 'enterprise',
  apiVersion: '2026-11-20',
  scopes: ['PSA', 'CRM'],
});

const guard: Guard = {
  enter: (request) =>
    Promise.resolve({
      principal: principalOf(String(request.headers.authorization).replace('Bearer ', '')),
      epoch: null,
      headers: {},
      isForeseen: false,
      refund: () => ({}),
    }),
  headersFor: () => ({}),
  record: () => undefined,
  close: () => Promise.resolve(),
};

const silent = (): void => undefined;

const listen = (server: Server): Promise<string> =>
  new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  });

function outbox(): { publishSoon(pending: PendingEvents): void; take(): BusEvent[]; hold(held: boolean): void } {
  let seen: BusEvent[] = [];
  let isHeld = false;
  return {
    publishSoon(pending) {
      if (isHeld) return;
      seen.push(...pending.events);
      void pending.clear();
    },
    take() {
      const taken = seen;
      seen = [];
      return taken;
    },
    hold(held) {
      isHeld = held;
    },
  };
}

/** The store of the run's shared stack; each desk has a database of its own on it. */
function storeUri(): string {
  const { env } = JSON.parse(process.env[STACK_VARIABLE] ?? '{"env":{}}') as {
    env: Record<string, string | undefined>;
  };
  const uri = env['MONGODB_URI'];
  if (!uri) throw new Error('No running stack: start this suite through jest’s "system" project.');
  return uri.replace(/\/[^/]*$/, `/signalbox_desk_${randomBytes(6).toString('hex')}`);
}

/** Starts a desk on a database of its own. */
export async function startDesk(): Promise<Desk> {
  const store = openStore(storeUri());
  await store.ensureIndexes();
  const sent = outbox();
  let now: Date | null = null;
  const context = {
    store,
    clock: { now: () => now ?? new Date() },
    sealer: createSealer('a secret for tests, long enough for anybody'),
    log: { debug: silent, info: silent, warn: silent, error: silent },
    outbox: sent,
  } as unknown as Context;
  const app = express();
  app.disable('etag').set('query parser', 'simple');
  app.use(opening());
  for (const service of ['psa', 'crm'] as const)
    app.use(`/${service}`, serviceRouter(service, [productBound()], { guard, context }));
  const server = createServer(app);
  const baseUrl = await listen(server);
  return {
    baseUrl,
    store,
    context,
    setNow: (moved) => {
      now = moved;
    },
    takeEvents: () => sent.take(),
    holdOutbox: (held) => sent.hold(held),
    async call(method, path, { org = 'org_one', body, headers = {} } = {}) {
      const reply = await fetch(`${baseUrl}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${org}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await reply.text();
      return {
        status: reply.status,
        headers: reply.headers,
        body: (text ? JSON.parse(text) : {}) as Record<string, unknown>,
      };
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await store.connection.dropDatabase();
      await store.close();
    },
  };
}

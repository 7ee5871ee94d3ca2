/** What a test does with a running stack: orgs with keys, calls, and waiting for a condition. */
import { randomInt } from 'node:crypto';
import { Agent } from 'undici';
import { readConfig } from '../../src/config';
import { PRODUCT_SCOPES, type Tier } from '../../src/contracts/principal';
import { hashKey, lastFour, mintKey } from '../../src/domain/api-key';
import { newId } from '../../src/domain/ids';
import { openStore, type OpenStore } from '../../src/store/connect';
import { insertKey } from '../../src/store/keys';
import { ensureTenant } from '../../src/store/tenants';
import { STACK_VARIABLE, type StackAddress } from './shared-stack';

/** A JSON body, indexable as deep as a test looks. Leaves are compared, or read through `text` and `list`. */
export interface Body {
  [field: string]: Body;
}

/** A leaf as text. */
export const text = (leaf: Body | undefined): string => (leaf as unknown as string | undefined) ?? '';
/** A leaf as the list it is. */
export const list = (leaf: Body | undefined): Body[] => leaf as unknown as Body[];

export interface Answer {
  status: number;
  headers: Headers;
  body: Body;
  text: string;
}

export interface TestOrg {
  id: string;
  key: string;
  /** Calls the API with the org's key. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
}

export interface Harness {
  address: StackAddress;
  store: OpenStore;
  newOrg(options?: {
    tier?: Tier;
    credits?: number;
    agentLimit?: number;
    rate?: number;
    scopes?: string[];
  }): Promise<TestOrg>;
  close(): Promise<void>;
}

/**
 * Connections from a loopback address of the caller's own, whose limits nobody else spends; close them in the end.
 * The address is the number's, spread over 127.1.0.0/16 and above.
 */
export function comingFrom(place: number): Agent & { address: string } {
  const address = `127.${1 + ((place >> 16) & 127)}.${(place >> 8) & 255}.${place & 255}`;
  return Object.assign(new Agent({ localAddress: address }), { address });
}

/** An address may be refused only so often in a minute; suites that run beside each other do not share one. */
const ofSuite = comingFrom(randomInt(2 ** 22));
/** Where the suite's requests come from. */
export const SUITE_ADDRESS = ofSuite.address;

/** One HTTP call; JSON in, JSON out. `from` sends it from another address than the suite's, see `comingFrom`. */
export async function request(
  baseUrl: string,
  call: { method: string; path: string; body?: unknown; headers?: Record<string, string>; from?: Agent },
): Promise<Answer> {
  const reply = await fetch(`${baseUrl}${call.path}`, {
    method: call.method,
    dispatcher: (call.from ?? ofSuite) as never,
    headers: { ...(call.body === undefined ? {} : { 'content-type': 'application/json' }), ...call.headers },
    ...(call.body === undefined ? {} : { body: typeof call.body === 'string' ? call.body : JSON.stringify(call.body) }),
  });
  const content = await reply.text();
  const isJson = reply.headers.get('content-type')?.includes('json') ?? false;
  return {
    status: reply.status,
    headers: reply.headers,
    text: content,
    body: (isJson ? JSON.parse(content) : {}) as unknown as Body,
  };
}

/** Creates an org with one key straight in the store; there is no public sign-up. */
export async function createOrg(
  store: OpenStore,
  address: StackAddress,
  options: Parameters<Harness['newOrg']>[0] = {},
): Promise<TestOrg> {
  const id = newId('org');
  await ensureTenant(store, {
    _id: id,
    name: 'Test org',
    tier: options.tier ?? 'enterprise',
    rateLimitPerMinute: options.rate ?? 100_000,
    agentLimit: options.agentLimit ?? null,
    creditAllocation: options.credits ?? null,
    timezone: 'UTC',
    createdAt: new Date(),
  });
  const key = mintKey('platform');
  const pepper = readConfig(address.env).secrets.keyPepper;
  await insertKey(store, {
    _id: newId('key'),
    orgId: id,
    kind: 'platform',
    name: 'test',
    hash: hashKey(pepper, key),
    last4: lastFour(key),
    scopes: options.scopes ?? PRODUCT_SCOPES,
    tier: options.tier ?? 'enterprise',
    expiresAt: null,
    createdAt: new Date(),
    createdBy: 'test',
    revokedAt: null,
    revokedBy: null,
    rotatedFrom: null,
    version: 1,
  } as never);
  return {
    id,
    key,
    call: (method, path, body, headers = {}) =>
      request(address.baseUrl, { method, path, body, headers: { authorization: `Bearer ${key}`, ...headers } }),
  };
}

/** Joins the shared stack of the run. */
export function joinStack(address: StackAddress = sharedAddress()): Harness {
  const store = openStore(address.env['MONGODB_URI'] ?? '');
  return { address, store, newOrg: (options) => createOrg(store, address, options), close: () => store.close() };
}

function sharedAddress(): StackAddress {
  const text = process.env[STACK_VARIABLE];
  if (!text) throw new Error('No running stack: start this suite through jest’s "system" project.');
  return JSON.parse(text) as StackAddress;
}

/** Looking again costs the machine as much as what is waited for, so what takes long is looked at more seldom. */
const POLL_MS = { least: 40, most: 250 };
const POLL_SHARE = 0.1;

/** Waits until `look` answers something; fails with what it last saw. */
export async function waitFor<Value>(
  look: () => Promise<Value | null | undefined | false>,
  options: { timeoutMs?: number; what?: string } = {},
): Promise<Value> {
  const startedAt = performance.now();
  const until = startedAt + (options.timeoutMs ?? 20_000);
  for (;;) {
    const value = await look();
    if (value) return value;
    const now = performance.now();
    if (now > until) throw new Error(`Not seen in time: ${options.what ?? look.toString()}`);
    const pauseMs = Math.min(Math.max(POLL_MS.least, (now - startedAt) * POLL_SHARE), POLL_MS.most);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** Waits until an execution has one of the statuses, and answers its record. */
export const waitForExecution = (org: TestOrg, id: string, statuses: string[], timeoutMs = 20_000): Promise<Body> =>
  waitFor(
    async () => {
      const { body } = await org.call('GET', `/agents/api/executions/${id}`);
      return statuses.includes(text(body['status'])) ? body : null;
    },
    { timeoutMs, what: `execution ${id} in ${statuses.join('/')}` },
  );

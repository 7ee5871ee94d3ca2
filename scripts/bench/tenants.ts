/** The orgs of a benchmark, with keys and agents. Several, because no tier admits as many requests as are made here. */
import type { Config } from '../../src/config';
import type { Tier } from '../../src/contracts/principal';
import { hashKey, lastFour, mintKey } from '../../src/domain/api-key';
import { newId } from '../../src/domain/ids';
import type { Store } from '../../src/store/collection';
import { insertKey } from '../../src/store/keys';
import { ensureTenant } from '../../src/store/tenants';
import type { Shape } from './lanes';

const ORGS = 8;
const UNLIMITED = 1_000_000_000;
/** A key's burst is 2 000; some stays for what is not counted here. */
const REQUESTS_PER_KEY = 1_500;

/** One key and the org it belongs to. */
export interface Caller {
  orgId: string;
  keyId: string;
  headers: Record<string, string>;
}

/** A key, of the tier that admits most unless another one is asked for. */
export async function createKey(
  store: Store,
  config: Config,
  orgId: string,
  { tier }: { tier: Tier } = { tier: 'enterprise' },
): Promise<Caller> {
  const key = mintKey('platform');
  const keyId = newId('key');
  await insertKey(store, {
    _id: keyId,
    orgId,
    kind: 'platform',
    name: 'Benchmark',
    hash: hashKey(config.secrets.keyPepper, key),
    last4: lastFour(key),
    scopes: ['Agents', 'PSA'],
    tier,
    expiresAt: null,
    createdAt: new Date(),
    createdBy: 'bench',
    revokedAt: null,
    revokedBy: null,
    rotatedFrom: null,
    version: 1,
  });
  return { orgId, keyId, headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' } };
}

/** Creates an org; `perMinute` is its window. */
export const createOrg = (store: Store, _id: string, perMinute: number = UNLIMITED): Promise<unknown> =>
  ensureTenant(store, {
    _id,
    name: 'Bench org',
    tier: 'enterprise',
    rateLimitPerMinute: perMinute,
    agentLimit: null,
    creditAllocation: UNLIMITED,
    timezone: 'UTC',
    createdAt: new Date(),
  });

/** Creates the orgs straight in the store; there is no public sign-up. Answers their keys, orgs taking turns. */
export async function createCallers(
  store: Store,
  config: Config,
  { requests, orgs = ORGS }: { requests: number; orgs?: number },
): Promise<Caller[]> {
  const orgIds = Array.from({ length: orgs }, () => newId('org'));
  const keysPerOrg = Math.ceil(requests / (orgs * REQUESTS_PER_KEY));
  for (const orgId of orgIds) await createOrg(store, orgId);
  const callers: Caller[] = [];
  for (let turn = 0; turn < keysPerOrg; turn += 1) {
    for (const orgId of orgIds) callers.push(await createKey(store, config, orgId));
  }
  return callers;
}

/** The event that starts the agent of a shape. */
export const eventOf = (shape: Shape): Record<string, unknown> => ({
  event_type: `custom.${shape}`,
  source_product: 'psa',
  payload: { name: 'Ada', ticket: { id: 'tkt_1', priority: 'high', subject: 'The printer on floor two is out' } },
});

const vars = (id: string): Record<string, unknown> => ({
  type: 'set_variables',
  id,
  values: { [id]: 'Ticket {{event_payload.ticket.id}} for {{event_payload.name}}' },
});

/** What the agents of each shape do. */
export const stepsOf = (httpUrl: string): Record<Shape, Record<string, unknown>[]> => ({
  light: [vars('one'), vars('two'), vars('three')],
  outside: [
    { type: 'ai_reason', id: 'think', tier: 'quick', prompt: 'Summarise {{event_payload.ticket.subject}}' },
    {
      type: 'notification',
      id: 'mail',
      channel: 'email',
      recipients: ['technician@example.com'],
      subject: 'Ticket {{event_payload.ticket.id}}',
      body: '{{steps.think.output.text}}',
    },
    { type: 'http_request', id: 'call', method: 'POST', url: httpUrl, body: { ticket: '{{event_payload.ticket.id}}' } },
  ],
  gated: [{ type: 'approval_gate', id: 'gate', message: 'Go on for {{event_payload.name}}?' }, vars('after')],
});

export const agentOf = (shape: Shape, steps: Record<string, unknown>[]): Record<string, unknown> => ({
  name: `Bench ${shape}`,
  trigger: { type: 'bus_event', event_type: `custom.${shape}`, source_product: 'psa', filters: [] },
  steps,
});

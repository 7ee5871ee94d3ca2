/** Who and what a run works with: a tenant that meets no limit, its keys and sessions, and a record of every kind. */
import type { Config } from '../../src/config';
import { agentOperations } from '../../src/contracts/operations/agents';
import type { ServiceName } from '../../src/contracts/operation';
import { PRODUCT_SCOPES } from '../../src/contracts/principal';
import { hashKey, lastFour, mintKey } from '../../src/domain/api-key';
import { newId } from '../../src/domain/ids';
import { serviceDocument } from '../../src/http/api-documents';
import { RESOURCES, resourceOf } from '../../src/resources/registry';
import type { Resource } from '../../src/resources/resource';
import { exampleId } from '../../src/resources/rules';
import { SESSION_LIFETIME_MS, sessionTokens } from '../../src/services/console/session-token';
import type { Store } from '../../src/store/collection';
import { insertKey } from '../../src/store/keys';
import { insertSession } from '../../src/store/sessions';
import { ensureTenant } from '../../src/store/tenants';
import { insertUser } from '../../src/store/users';

const UNLIMITED = 1_000_000_000;
/** A key's burst is 2,000 requests; a run makes tens of thousands. */
const KEYS = 16;
/** One for the run, the others for its sign-outs. */
const SESSIONS = 200;
/** The same for client users. */
const PORTAL_SESSIONS = 40;
const FUZZ_EVENT = { event_type: 'custom.fuzz', source_product: 'psa', payload: { title: 'Fuzz' } };
const LOOK_MS = 50;
const LOOKS_MAX = 400;

/** The running product a cast is made on. */
export interface Target {
  baseUrl: string;
  config: Config;
  store: Store;
}

interface SessionHeaders {
  cookie: string;
  csrfToken: string;
}

/** What the hooks read. */
export interface Cast {
  mount: ServiceName;
  orgId: string;
  keys: string[];
  sessions: SessionHeaders[];
  /** Of one client user; empty where no operation takes them alone. */
  portalTokens: string[];
  /** Ids as the examples show them → ids of records that exist. */
  ids: Record<string, string>;
  /** Paths with an id, below the host → the id of a record that exists. */
  records: Record<string, string>;
  /** Paths with a second id → that id of a note that exists. */
  notes: Record<string, string>;
}

async function createKey({ store, config }: Target, orgId: string): Promise<{ id: string; key: string }> {
  const key = mintKey('platform');
  const id = newId('key');
  await insertKey(store, {
    _id: id,
    orgId,
    kind: 'platform',
    name: 'Fuzz',
    hash: hashKey(config.secrets.keyPepper, key),
    last4: lastFour(key),
    scopes: [...PRODUCT_SCOPES],
    tier: 'enterprise',
    expiresAt: null,
    createdAt: new Date(),
    createdBy: 'fuzz',
    revokedAt: null,
    revokedBy: null,
    rotatedFrom: null,
    version: 1,
  });
  return { id, key };
}

async function createTenant({ store }: Target): Promise<string> {
  const _id = newId('org');
  await ensureTenant(store, {
    _id,
    name: 'Fuzz org',
    tier: 'enterprise',
    rateLimitPerMinute: UNLIMITED,
    agentLimit: UNLIMITED,
    creditAllocation: UNLIMITED,
    timezone: 'UTC',
    createdAt: new Date(),
  });
  return _id;
}

async function createOwner({ store }: Target, orgId: string): Promise<string> {
  const _id = newId('usr');
  await insertUser(store, {
    _id,
    orgId,
    email: `${_id.toLowerCase()}@fuzz.example`,
    displayName: 'Fuzz owner',
    role: 'owner',
    passwordHash: null,
    disabledAt: null,
    createdAt: new Date(),
  });
  return _id;
}

async function createSession({ store, config }: Target, orgId: string, userId: string): Promise<SessionHeaders> {
  const tokens = sessionTokens(config);
  const createdAt = new Date();
  const sessionId = newId('ses');
  const endsAt = new Date(createdAt.getTime() + SESSION_LIFETIME_MS);
  await insertSession(store, { _id: sessionId, orgId, userId, createdAt, expiresAt: endsAt, revokedAt: null });
  const cookie = await tokens.cookieFor({ userId, orgId, sessionId, endsAt }, createdAt);
  return { cookie: cookie.split(';', 1)[0] ?? '', csrfToken: tokens.csrfTokenFor(sessionId) };
}

type Body = Record<string, unknown>;
type Ask = (method: string, path: string, body?: unknown) => Promise<Body>;

/** Calls the product as a client would; a refusal ends the run, because then the seeds are wrong. */
const asker =
  ({ baseUrl }: Target, key: string): Ask =>
  async (method, path, body) => {
    const answer = await fetch(`${baseUrl}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return (text ? JSON.parse(text) : {}) as Body;
  };

/** Makes one record per row from the row's own example, those it names first. */
function seeder(ask: Ask) {
  const made = new Map<Resource, Promise<string>>();
  async function make(row: Resource): Promise<string> {
    const body: Body = { ...row.examples.create };
    for (const name of Object.keys(body)) {
      const target = row.fields[name]?.traits.target;
      if (target) body[name] = await seed(resourceOf(target));
    }
    return String((await ask('POST', `/${row.products[0]}/api/${row.path}`, body))['id']);
  }
  function seed(row: Resource): Promise<string> {
    const known = made.get(row) ?? make(row);
    made.set(row, known);
    return known;
  }
  return seed;
}

/** The rows of a mount, and those its examples refer to. */
function rowsFor(mount: ServiceName): Resource[] {
  const document = JSON.stringify(serviceDocument(mount));
  return RESOURCES.filter(
    ({ products, prefix }) =>
      products.some((product) => product === mount) || document.includes(`"${exampleId(prefix)}"`),
  );
}

async function seedResources(rows: readonly Resource[], ask: Ask): Promise<Pick<Cast, 'ids' | 'records' | 'notes'>> {
  const seed = seeder(ask);
  const ids: Record<string, string> = {};
  const records: Record<string, string> = {};
  const notes: Record<string, string> = {};
  for (const row of rows) {
    const id = await seed(row);
    ids[exampleId(row.prefix)] = id;
    for (const product of row.products) records[`/${product}/api/${row.path}/{id}`] = id;
    if (!row.hasNotes) continue;
    const path = `/${row.products[0]}/api/${row.path}`;
    const note = await ask('POST', `${path}/${id}/notes`, { body: 'Seen by the fuzzer' });
    for (const below of ['notes', 'notes/{noteId}']) records[`${path}/{id}/${below}`] = id;
    notes[`${path}/{id}/notes/{noteId}`] = String(note['id']);
  }
  return { ids, records, notes };
}

async function until<Found>(look: () => Promise<Found | undefined>, what: string): Promise<Found> {
  for (let attempt = 0; attempt < LOOKS_MAX; attempt += 1) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  throw new Error(`${what} did not come in time; is the worker running?`);
}

const idOf = (items: unknown): string | undefined => (items as { id?: string }[])[0]?.id;

/** An agent, an event, the execution it started and the approval that waits there. */
async function seedAgents(ask: Ask): Promise<Record<string, string>> {
  const [example] = Object.values(agentOperations.createAgent.examples ?? {});
  const steps = [{ type: 'approval_gate', id: 'ok', message: 'Go on?' }];
  const trigger = { type: 'bus_event', event_type: 'custom.fuzz', source_product: 'psa', filters: [] };
  const agentId = String((await ask('POST', '/agents/api/agents', { ...(example as Body), trigger, steps }))['id']);
  await ask('PUT', `/agents/api/agents/${agentId}`, { status: 'active' });
  const eventId = String((await ask('POST', '/agents/api/events/ingest', FUZZ_EVENT))['event_id']);
  const approvalId = await until(
    async () => idOf((await ask('GET', '/agents/api/approvals?status=pending'))['approvals']),
    'The approval of the seeded execution',
  );
  const executionId = idOf((await ask('GET', '/agents/api/executions'))['executions']) ?? '';
  const templateId = idOf((await ask('GET', '/agents/api/templates'))['templates']) ?? '';
  return {
    '/agents/api/agents/{id}': agentId,
    '/agents/api/agents/{id}/clone': agentId,
    '/agents/api/executions/{id}': executionId,
    '/agents/api/executions/{id}/cancel': executionId,
    '/agents/api/executions/{id}/retry': executionId,
    '/agents/api/approvals/{id}/decision': approvalId,
    '/agents/api/templates/{id}/clone': templateId,
    '/agents/api/event-log/{id}': eventId,
  };
}

/** A key that nobody uses, so that it may be changed and revoked, and a webhook endpoint that is nowhere. */
async function seedConsole(target: Target, orgId: string, ask: Ask): Promise<Record<string, string>> {
  const spare = await createKey(target, orgId);
  const endpoint = { url: 'https://hooks.signalbox.invalid/fuzz', eventTypes: ['psa:custom.*'] };
  const webhookId = String((await ask('POST', '/console/api/webhooks', endpoint))['id']);
  await ask('POST', '/agents/api/events/ingest', FUZZ_EVENT);
  const deliveryId = await until(
    async () => idOf((await ask('GET', `/console/api/webhooks/${webhookId}/deliveries`))['items']),
    'The delivery to the seeded webhook',
  );
  return {
    '/console/api/api-keys/{id}': spare.id,
    '/console/api/webhooks/{id}': webhookId,
    '/console/api/deliveries/{id}': deliveryId,
  };
}

/** A client user beside the seeded one, which a run may suspend, with the tokens of its sessions. */
async function seedPortal(ask: Ask): Promise<string[]> {
  const companyId = String((await ask('POST', '/psa/api/companies', { name: 'Fuzz client' }))['id']);
  const email = 'fuzz@client.example';
  const contact = { firstName: 'Fuzz', lastName: 'Reyes', email, companyId };
  const contactId = String((await ask('POST', '/psa/api/contacts', contact))['id']);
  const person = { email, companyId, contactId, role: 'admin' };
  const path = `/portal/api/client-users/${String((await ask('POST', '/portal/api/client-users', person))['id'])}/sessions`;
  const tokens: string[] = [];
  // One after another: each sign-in changes the client user.
  while (tokens.length < PORTAL_SESSIONS) tokens.push(String((await ask('POST', path))['token']));
  return tokens;
}

interface Own {
  records: Record<string, string>;
  portalTokens: string[];
}

/** What only the named mount works with. */
async function seedOwn(target: Target, { mount, orgId }: Pick<Cast, 'mount' | 'orgId'>, ask: Ask): Promise<Own> {
  if (mount === 'agents') return { records: await seedAgents(ask), portalTokens: [] };
  if (mount === 'console') return { records: await seedConsole(target, orgId, ask), portalTokens: [] };
  if (mount === 'portal') return { records: {}, portalTokens: await seedPortal(ask) };
  return { records: {}, portalTokens: [] };
}

/**
 * Makes the cast of one run; every run has a tenant of its own, so that none meets what another left. There is a record
 * of each of `rows`: those the mount works with, unless others are named.
 */
export async function createCast(
  target: Target,
  mount: ServiceName,
  rows: readonly Resource[] = rowsFor(mount),
): Promise<Cast> {
  const orgId = await createTenant(target);
  const minted = await Promise.all(Array.from({ length: KEYS }, () => createKey(target, orgId)));
  const keys = minted.map(({ key }) => key);
  const userId = await createOwner(target, orgId);
  const length = mount === 'console' ? SESSIONS : 1;
  const sessions = await Promise.all(Array.from({ length }, () => createSession(target, orgId, userId)));
  const ask = asker(target, keys[0] ?? '');
  // A process refuses keys it has not met while an address sends it many wrong ones, which is what a run does.
  await Promise.all(keys.map((key) => asker(target, key)('GET', '/console/api/rate-limit')));
  const { ids, records, notes } = await seedResources(rows, ask);
  const own = await seedOwn(target, { mount, orgId }, ask);
  const { portalTokens } = own;
  return { mount, orgId, keys, sessions, ids, portalTokens, records: { ...records, ...own.records }, notes };
}

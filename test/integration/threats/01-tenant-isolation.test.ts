/**
 * Every operation of every mount, with another tenant's id, by each kind of credential: the answer is the one that an
 * id nobody has would get. Operations come from the tables of routes, so a new one is in here before anybody thinks of it.
 */
import type { Operation } from '../../../src/contracts/operation';
import { permissionsOf, ROLES, type Role } from '../../../src/domain/permissions';
import { portalPermissionsOf } from '../../../src/domain/portal';
import { waitFor } from '../../support/harness';
import { bearer, exampleOf, likeness, nameOf, openBorder, operations, otherScopes, placeOf, twinOf } from './tenants';
import type { Border, Tenant } from './tenants';

const SECOND = 1_000;

let border: Border;
let owner: Tenant;
let stranger: Tenant;
let before: Holdings;
beforeAll(async () => {
  border = openBorder();
  [owner, stranger] = await Promise.all([border.newTenant(), border.newTenant()]);
  before = await quiet();
}, 120 * SECOND);
afterAll(() => border.stop());

/** What a request may legitimately move by itself: counters of the caller and of the minute. */
const NOT_COMPARED = new Set(['guards', 'key_usage', 'key_usage_hours']);

/** The sweep notes when it looked at an execution; that moves by itself. */
const LOOKED_AT = { projection: { touched_at: 0 } };

/** Documents by their collections. */
type Holdings = Record<string, unknown[] | undefined>;

/** Everything the store holds of the owner. */
async function holdings(): Promise<Holdings> {
  const { db } = border.store.connection;
  const names = (await db?.listCollections().toArray())?.map(({ name }) => name) ?? [];
  const mine = { $or: ['orgId', 'org_id', 'tenantId', 'tenant_id', '_id'].map((field) => ({ [field]: owner.id })) };
  const found = await Promise.all(
    names
      .filter((name) => !NOT_COMPARED.has(name))
      .toSorted()
      .map(
        async (name) => [name, await db?.collection(name).find(mine, LOOKED_AT).sort({ _id: 1 }).toArray()] as const,
      ),
  );
  return Object.fromEntries(found);
}

/** The owner's holdings once its own agents have come to rest. */
async function quiet(): Promise<Holdings> {
  let last = '';
  let since = performance.now();
  return waitFor(
    async () => {
      const now = await holdings();
      const seen = JSON.stringify(now);
      if (seen !== last) since = performance.now();
      last = seen;
      return performance.now() - since > 2 * SECOND && now;
    },
    { timeoutMs: 60 * SECOND, what: 'the owner at rest' },
  );
}

const addressed = operations.filter(({ path }) => path.includes('/:'));
const cases = addressed.map((operation) => [nameOf(operation), operation] as const);

test('every operation that takes an id has one of the owner’s to try', () => {
  const without = addressed.filter((operation) => !owner.ids[placeOf(operation)]?.every((id) => id.length > 8));
  expect(without.map(nameOf)).toEqual([]);
  // A second parameter is one that `tenants.ts` knows.
  const deeper = addressed.filter(({ path }) => path.split('/:').length > 2);
  expect(deeper.map(nameOf).toSorted()).toEqual([
    'DELETE /portal/api/client-users/:id/sessions/:sessionId',
    'DELETE /psa/api/tickets/:id/notes/:noteId',
    'GET /psa/api/tickets/:id/notes/:noteId',
    'PATCH /psa/api/tickets/:id/notes/:noteId',
  ]);
  expect(addressed.length).toBeGreaterThan(100);
});

interface Caller {
  name: string;
  headers: Record<string, string>;
  /** What the contract says before any id is looked at. */
  status: 403 | 404 | RegExp;
}

const ofRole = ({ access }: Operation, role: Role): 403 | 404 =>
  'permission' in access && permissionsOf(role).has(access.permission) ? 404 : 403;

/** A body with fields that the portal may not set is refused before any id is looked at. */
const portalStatus = ({ method, portal }: Operation): 403 | 404 | RegExp => {
  if (portal === undefined || !portalPermissionsOf('admin').has(portal)) return 403;
  return method === 'PATCH' ? /^40[04]$/ : 404;
};

async function callersOf(operation: Operation): Promise<Caller[]> {
  const open = operation.access.kind === 'product' ? 404 : 403;
  return [
    { name: 'key as bearer', headers: bearer(stranger.key), status: open },
    { name: 'key as X-Integration-Key', headers: { 'x-integration-key': stranger.key }, status: open },
    { name: 'key of other products', headers: await stranger.keyWith(otherScopes(operation)), status: 403 },
    { name: 'key without scopes', headers: await stranger.keyWith([]), status: 403 },
    { name: 'portal token', headers: stranger.portal, status: portalStatus(operation) },
    ...ROLES.map((role) => ({ name: role, headers: stranger.sessions[role], status: ofRole(operation, role) })),
  ];
}

/** Conditions that only hold for who knows the owner's record. */
async function conditionsFor(operation: Operation, id: string): Promise<Record<string, string>[]> {
  const read = operations.find(
    ({ method, service, path }) => method === 'GET' && service === operation.service && path === operation.path,
  );
  if (!read || operation.method === 'POST') return [{}];
  const headers = operation.access.kind === 'session' ? owner.sessions.owner : bearer(owner.key);
  const tag = (await border.call(read, { id, headers })).headers.get('etag');
  return tag ? [{}, { [operation.method === 'GET' ? 'if-none-match' : 'if-match']: tag }] : [{}];
}

test.each(cases)('%s', async (_name, operation) => {
  const [id = ''] = owner.ids[placeOf(operation)] ?? [];
  const body = exampleOf(operation);
  const conditions = await conditionsFor(operation, id);
  const callers = await callersOf(operation);
  await Promise.all(
    callers.flatMap(({ name, headers, status }) =>
      conditions.map(async (condition) => {
        const send = (one: string) => border.call(operation, { id: one, body, headers: { ...headers, ...condition } });
        const [theirs, nobodys] = await Promise.all([send(id), send(twinOf(id))]);
        const expected: unknown = status instanceof RegExp ? expect.stringMatching(status) : String(status);
        expect([name, condition, String(theirs.status), theirs.text]).toEqual([name, condition, expected, theirs.text]);
        expect({ name, condition, answer: likeness(theirs, id) }).toEqual({
          name,
          condition,
          answer: likeness(nobodys, twinOf(id)),
        });
      }),
    ),
  );
});

// Last, because an address that fails sixty times a minute is asked to wait before new keys are looked up for it.
test.each(cases)('%s without a credential', async (_name, operation) => {
  const [id = ''] = owner.ids[placeOf(operation)] ?? [];
  const send = (one: string) => border.call(operation, { id: one, body: exampleOf(operation), headers: {} });
  const [theirs, nobodys] = await Promise.all([send(id), send(twinOf(id))]);
  expect(theirs.status).toBe(401);
  expect(likeness(theirs, id)).toEqual(likeness(nobodys, twinOf(id)));
});

test('nothing of it has moved anything of the owner’s', async () => {
  expect(await holdings()).toEqual(before);
});

const deletesLast = cases.toSorted(
  ([, one], [, other]) => Number(one.method === 'DELETE') - Number(other.method === 'DELETE'),
);

/** The answers above mean something only because the owner gets others for the same ids. */
test.each(deletesLast)('%s is there for the owner', async (_name, operation) => {
  const [id = ''] = owner.ids[placeOf(operation)] ?? [];
  // A deletion is only asked for: no record has this version.
  const condition = operation.method === 'DELETE' ? { 'if-match': 'W/"another.0"' } : {};
  const key = operation.access.kind === 'session' ? owner.sessions.owner : bearer(owner.key);
  const answer = await border.call(operation, { id, body: exampleOf(operation), headers: { ...key, ...condition } });
  const isTemplate = operation.path.startsWith('/api/templates');
  expect([answer.status === 404, answer.text]).toEqual([isTemplate, expect.any(String)]);
});

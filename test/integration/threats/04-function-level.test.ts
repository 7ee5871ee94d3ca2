/** Functions beyond the caller's rights: refused by every operation, and a route that says nothing is never served. */
import { operation, type Operation } from '../../../src/contracts/operation';
import { permissionsOf, ROLES } from '../../../src/domain/permissions';
import { serviceRouter } from '../../../src/http/mount';
import { exampleOf, nameOf, openBorder, operations, otherScopes } from './tenants';
import type { Border, Tenant } from './tenants';

let border: Border;
let tenant: Tenant;
beforeAll(async () => {
  border = openBorder();
  tenant = await border.newTenant({ isEmpty: true });
});
afterAll(() => border.stop());

test('a route without a declared access stops the process from starting', () => {
  const declared = { id: 'open', service: 'psa', method: 'GET', path: '/api/open', tag: 'x', summary: 'x' } as const;
  const build = (access: unknown) =>
    serviceRouter(
      'psa',
      [
        {
          operations: [operation({ ...declared, access: access as Operation['access'], responses: { 200: null } })],
          handlers: { open: () => Promise.resolve({ status: 200 }) },
        },
      ],
      { context: { config: {} } } as never,
    );
  expect(() => build(undefined)).toThrow('Operation open declares no access');
  expect(() => build({ kind: 'public' })).not.toThrow();
});

const guarded = operations.filter(({ access }) => access.kind !== 'public');
// Those with an id in their path are tried by all of these callers with ids that exist, in the suite on tenants.
const cases = guarded.filter(({ path }) => !path.includes('/:')).map((one) => [nameOf(one), one] as const);

test.each(cases)('%s', async (_name, called) => {
  const { access } = called;
  const tried = [
    { name: 'key of other products', headers: await tenant.keyWith(otherScopes(called)) },
    { name: 'key without scopes', headers: await tenant.keyWith([]) },
    ...ROLES.filter((role) => !('permission' in access) || !permissionsOf(role).has(access.permission)).map((role) => ({
      name: role,
      headers: tenant.sessions[role],
    })),
  ].filter(({ name }) => name !== 'key of other products' || otherScopes(called).length > 0);
  const answers = await Promise.all(
    tried.map(async ({ name, headers }) => {
      const { status } = await border.call(called, { body: exampleOf(called), headers });
      return { name, status };
    }),
  );
  expect(answers).toEqual(tried.map(({ name }) => ({ name, status: 403 })));
});

// Last, because an address that fails sixty times a minute is asked to wait before new keys are looked up for it.
test.each(cases)('%s without a credential', async (_name, called) => {
  const answer = await border.call(called, { body: exampleOf(called), headers: {} });
  expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
});

test('rights are looked at before a body is: one that cannot be read is 403 and 401 as well', async () => {
  const takers = guarded.filter(({ body, path }) => body !== undefined && !path.includes('/:'));
  expect(takers.length).toBeGreaterThan(40);
  const callers = [
    { headers: await tenant.keyWith([]), right: 403 },
    { headers: {}, right: 401 },
  ];
  const statuses = await Promise.all(
    takers.flatMap((called) =>
      callers.map(async ({ headers, right }) => {
        const { status } = await border.call(called, { body: '{', headers });
        return status === right ? null : `${nameOf(called)} ${status}`;
      }),
    ),
  );
  expect(statuses.filter((fault) => fault !== null)).toEqual([]);
});

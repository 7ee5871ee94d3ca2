/** Nobody hands out more than they hold: not by creating a key, not by editing one, not by rotating one. */
import type { Context } from '../../../src/context';
import {
  MAIL_SCOPES,
  PERMISSIONS,
  PRODUCT_SCOPES,
  type Permission,
  type Principal,
} from '../../../src/contracts/principal';
import { Problem } from '../../../src/contracts/problem';
import { ROLES } from '../../../src/domain/permissions';
import { newId } from '../../../src/domain/ids';
import { keyHandlers } from '../../../src/services/console/keys';
import { currentKey, newKey, newTenant, openTestStore, testContext, type TestStore } from '../auth/support';
import { text, type Answer } from '../../support/harness';
import { openBorder, type Border, type Tenant } from './tenants';

let store: TestStore;
let context: Context;
let orgId: string;
let border: Border;
let tenant: Tenant;
beforeAll(async () => {
  store = await openTestStore();
  context = testContext(store);
  orgId = await newTenant(store);
  border = openBorder();
  tenant = await border.newTenant({ isEmpty: true });
});
afterAll(async () => {
  await border.stop();
  await store.close();
});

/** A session that may manage keys and has these permissions besides. */
const manager = (...more: Permission[]): Principal => ({
  kind: 'session',
  id: 'usr_manager',
  sessionId: 'ses_manager',
  email: 'manager@test.example',
  orgId,
  tier: 'enterprise',
  permissions: new Set<Permission>(['keys:manage', ...more]),
});

const NEEDS: Record<string, Permission[]> = {
  Agents: ['agents:write', 'executions:operate', 'approvals:decide', 'events:write'],
  Console: PERMISSIONS.filter((permission) =>
    /^(agents|executions:operate|approvals:decide|events:write|products)/.test(permission),
  ),
  product: ['products:read', 'products:write', 'products:delete'],
};
const lacking = PRODUCT_SCOPES.flatMap((scope) =>
  (NEEDS[scope] ?? NEEDS['product'] ?? [])
    .filter(
      (permission) => !(scope === 'Console' && permission.endsWith(':read') && !permission.startsWith('products')),
    )
    .map((permission) => [scope, permission] as const),
);

type Names = 'createApiKey' | 'updateApiKey' | 'rotateApiKey';

const call = (name: Names, principal: Principal, more: { id?: string; body: unknown }): Promise<unknown> => {
  const handler = keyHandlers[name] as (given: unknown) => Promise<unknown>;
  const given = {
    params: { id: more.id },
    body: more.body,
    principal,
    context,
    headers: {},
    isRepeat: false,
    query: {},
  };
  return handler({ ...given, newId: (prefix: string) => newId(prefix), requestId: 'req_x', epoch: null });
};

const refusal = (outcome: Promise<unknown>): Promise<unknown> =>
  outcome.then(
    () => 'granted',
    (error: unknown) => (error instanceof Problem ? [error.code, error.facts] : error),
  );

describe('a session that manages keys without holding what a scope opens', () => {
  test.each(lacking)('%s is not granted without %s', async (scope, permission) => {
    const without = manager(...PERMISSIONS.filter((one) => one !== permission));
    const refused = ['forbidden', { required: [scope] }];
    const body = { kind: 'platform', name: 'Wider', scopes: [scope] };
    expect(await refusal(call('createApiKey', without, { body }))).toEqual(refused);
    const { record } = await newKey(context, orgId, { scopes: [] });
    expect(await refusal(call('updateApiKey', without, { id: record._id, body: { scopes: [scope] } }))).toEqual(
      refused,
    );
    expect((await currentKey(context, record)).scopes).toEqual([]);
    // A successor would hold what the old key holds.
    const { record: wide } = await newKey(context, orgId, { scopes: [scope] });
    expect(await refusal(call('rotateApiKey', without, { id: wide._id, body: {} }))).toEqual(refused);
  });

  test('with everything the scope opens, it is', async () => {
    for (const scope of PRODUCT_SCOPES) {
      const body = { kind: 'platform', name: scope, scopes: [scope] };
      expect(await call('createApiKey', manager(...PERMISSIONS), { body })).toMatchObject({ status: 201 });
    }
  });
});

describe('over HTTP', () => {
  const PATHS = [
    ['POST', '/console/api/api-keys', { kind: 'platform', name: 'Mine', scopes: ['PSA'] }],
    ['PATCH', '/console/api/api-keys/<id>', { scopes: ['PSA', 'Agents'] }],
    ['POST', '/console/api/api-keys/<id>/rotate', {}],
    ['DELETE', '/console/api/api-keys/<id>', undefined],
  ] as const;

  test.each(PATHS)(
    '%s %s is for owners and admins: no other role, and no key of any scope',
    async (method, path, body) => {
      const { id } = (await asOwner('POST', '/console/api/api-keys', { kind: 'platform', name: 'Key', scopes: [] }))
        .body;
      const others = ROLES.filter((role) => role !== 'owner' && role !== 'admin').map((role) => tenant.sessions[role]);
      const everything = await tenant.keyWith(PRODUCT_SCOPES);
      for (const headers of [...others, everything]) {
        const answer = await border.request({ method, path: path.replace('<id>', text(id)), body, headers });
        expect([answer.status, answer.body['code']]).toEqual([403, 'INSUFFICIENT_SCOPE']);
      }
    },
  );

  test('a key is never made into one of the other kind, nor given a scope of it', async () => {
    const { body } = await asOwner('POST', '/console/api/api-keys', { kind: 'platform', name: 'Key', scopes: [] });
    const path = `/console/api/api-keys/${text(body['id'])}`;
    const changes = [
      { kind: 'mail' },
      { key: 'plat_x' },
      { hash: 'x' },
      { tier: 'enterprise' },
      ...MAIL_SCOPES.map((scope) => ({ scopes: [scope] })),
    ];
    for (const change of changes) {
      const answer = await asOwner('PATCH', path, change);
      expect([change, answer.status]).toEqual([change, 400]);
    }
    expect((await asOwner('GET', path, undefined)).body).toEqual({ ...body, key: undefined });
  });
});

/** A call with the owner's session. */
function asOwner(method: string, path: string, body?: unknown): Promise<Answer> {
  return border.request({ method, path, body, headers: tenant.sessions.owner });
}

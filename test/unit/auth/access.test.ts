/** Deny by default: the whole table of scopes and roles against the operations of the agent service and the console. */
import { agentOperations } from '../../../src/contracts/operations/agents';
import { consoleOperations } from '../../../src/contracts/operations/console';
import type { Operation } from '../../../src/contracts/operation';
import { MAIL_SCOPES, PERMISSIONS, PRODUCT_SCOPES, type Principal } from '../../../src/contracts/principal';
import { mayGrant, permissionsOf, ROLES, type Role } from '../../../src/domain/permissions';
import { grants, grantsAny, scopesOf } from '../../../src/domain/scopes';
import { authorise } from '../../../src/http/auth-access';

const org = { orgId: 'org_x', tier: 'standard' } as const;
const key = (...scopes: string[]): Principal => ({
  ...org,
  kind: 'key',
  id: 'key_x',
  keyId: 'key_x',
  name: 'x',
  keyTier: 'standard',
  apiVersion: '2026-11-20',
  scopes,
});
const session = (role: Role): Principal => ({
  ...org,
  kind: 'session',
  id: 'usr_x',
  sessionId: 'ses_x',
  email: 'x@y.z',
  permissions: permissionsOf(role),
});

const operations: Operation[] = Object.values({ ...agentOperations, ...consoleOperations }) as Operation[];
const allowed = (principal: Principal): string[] =>
  operations.filter(({ access }) => authorise(principal, access) === null).map(({ id }) => id);
const withAccess = (predicate: (access: Operation['access']) => boolean) =>
  operations.filter(({ access }) => predicate(access)).map(({ id }) => id);

describe('keys', () => {
  const open = withAccess((access) => access.kind === 'public');

  test('a key without scopes reaches nothing but public operations', () => {
    expect(allowed(key())).toEqual(open);
  });

  test.each(PRODUCT_SCOPES)('%s reaches exactly the operations that name it', (scope) => {
    expect(allowed(key(scope))).toEqual(
      withAccess((access) => access.kind === 'public' || (access.kind === 'product' && access.scopes.includes(scope))),
    );
  });

  test('no key of any scope reaches an operation for sessions', () => {
    const sessionOnly = withAccess((access) => access.kind === 'session');
    const reached = allowed(key(...PRODUCT_SCOPES, ...MAIL_SCOPES));
    expect(sessionOnly.length).toBeGreaterThan(5);
    expect(reached.filter((id) => sessionOnly.includes(id))).toEqual([]);
  });

  test.each([...MAIL_SCOPES, 'psa', 'Admin', '*', ''])('%j opens no product API', (scope) => {
    expect(allowed(key(scope))).toEqual(open);
  });
});

describe('sessions', () => {
  test.each(ROLES)('%s reaches exactly the operations its permissions name', (role) => {
    const held = permissionsOf(role);
    expect(allowed(session(role))).toEqual(
      withAccess((access) => access.kind === 'public' || (access.kind !== 'portal' && held.has(access.permission))),
    );
  });

  test('what each role may do', () => {
    const reads = ['agents:read', 'approvals:read', 'credits:read', 'events:read', 'executions:read', 'products:read'];
    const beyondReading = (role: Role) =>
      [...permissionsOf(role)]
        .filter((permission) => !reads.includes(permission) && permission !== 'session:own')
        .sort();
    expect(beyondReading('viewer')).toEqual([]);
    expect(beyondReading('approver')).toEqual(['approvals:decide']);
    expect(beyondReading('technician')).toEqual([
      'approvals:decide',
      'executions:operate',
      'products:write',
      'webhooks:read',
    ]);
    expect(beyondReading('admin')).toEqual(beyondReading('owner'));
    for (const role of ROLES)
      expect([...permissionsOf(role)]).toEqual(expect.arrayContaining([...reads, 'session:own']));
  });

  test('nobody but owners and admins manages keys; everybody reads', () => {
    expect(ROLES.filter((role) => permissionsOf(role).has('keys:manage'))).toEqual(['owner', 'admin']);
    for (const role of ROLES) expect(permissionsOf(role).has('agents:read')).toBe(true);
    expect(permissionsOf('owner').size).toBe(PERMISSIONS.length);
  });
});

describe('anonymous callers', () => {
  test('reach public operations only', () => {
    expect(allowed({ ...org, kind: 'anonymous', id: 'ip:127.0.0.1' })).toEqual(
      withAccess((access) => access.kind === 'public'),
    );
  });
});

describe('scopes', () => {
  test('admin includes every mail scope and no product scope', () => {
    for (const scope of MAIL_SCOPES) expect(grants(['admin'], scope)).toBe(true);
    for (const scope of PRODUCT_SCOPES) expect(grants(['admin'], scope)).toBe(false);
  });

  test('send-batch works only with send', () => {
    expect([
      grants(['send-batch'], 'send-batch'),
      grants(['send', 'send-batch'], 'send-batch'),
      grants(['send'], 'send-batch'),
    ]).toEqual([false, true, false]);
    expect(grants(['send-batch'], 'send')).toBe(false);
  });

  test('mail operations need every scope they name', () => {
    const batch = { kind: 'mail', scopes: ['send', 'send-batch'] } as const;
    expect(authorise(key('send', 'send-batch'), batch)).toBeNull();
    expect(authorise(key('admin'), batch)).toBeNull();
    expect(authorise(key('send-batch'), batch)?.code).toBe('forbidden');
    expect(authorise(session('owner'), batch)?.code).toBe('forbidden');
  });

  test('an empty demand is met by nobody', () => {
    expect(grantsAny(['PSA'], [])).toBe(false);
    expect(authorise(key('PSA'), { kind: 'product', scopes: [], permission: 'products:read' })?.code).toBe('forbidden');
  });

  test('a session hands out only what it holds', () => {
    for (const kind of ['platform', 'mail'] as const) {
      for (const scope of scopesOf(kind)) {
        expect(mayGrant(permissionsOf('owner'), scope, kind)).toBe(true);
        expect(mayGrant(permissionsOf('viewer'), scope, kind)).toBe(false);
      }
    }
    const keysOnly = new Set(['keys:manage'] as const);
    expect(scopesOf('platform').filter((scope) => mayGrant(keysOnly, scope, 'platform'))).toEqual([]);
  });
});

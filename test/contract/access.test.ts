/** Who may call what, as a table of its own: a route whose access changes, or a new one, must be written down here too. */
import type { Operation } from '../../src/contracts/operation';
import { productRoutes, type ProductAction } from '../../src/contracts/operations/products';
import { PRODUCT_SCOPES, type Principal } from '../../src/contracts/principal';
import { permissionsOf, ROLES, type Role } from '../../src/domain/permissions';
import { boundOperations } from '../../src/http/app';
import { authorise } from '../../src/http/auth-access';

const EVERYBODY: readonly Role[] = ROLES;
const MANAGERS: readonly Role[] = ['owner', 'admin'];
const WORKERS: readonly Role[] = [...MANAGERS, 'technician'];
const DECIDERS: readonly Role[] = [...WORKERS, 'approver'];

interface Row {
  /** Scopes that each open the operation to a key. */
  scopes: readonly string[];
  roles: readonly Role[];
}

const NO_KEY: readonly string[] = [];
const AUTOMATION = ['Agents', 'Console'];
const inConsole = (roles: readonly Role[]): Row => ({ scopes: NO_KEY, roles });
const ofAgents = (roles: readonly Role[]): Row => ({ scopes: AUTOMATION, roles });

/** Taken from client users only; what they reach beside it is the suite on the portal's reach. */
const PORTAL_ONLY: Row = { scopes: NO_KEY, roles: [] };

const ROWS: Record<string, Row> = {
  listAgents: ofAgents(EVERYBODY),
  createAgent: ofAgents(MANAGERS),
  getAgent: ofAgents(EVERYBODY),
  updateAgent: ofAgents(MANAGERS),
  deleteAgent: ofAgents(MANAGERS),
  cloneAgent: ofAgents(MANAGERS),
  listExecutions: ofAgents(EVERYBODY),
  getExecution: ofAgents(EVERYBODY),
  cancelExecution: ofAgents(WORKERS),
  retryExecution: ofAgents(WORKERS),
  listApprovals: ofAgents(EVERYBODY),
  getApproval: ofAgents(EVERYBODY),
  decideApproval: ofAgents(DECIDERS),
  listTemplates: ofAgents(EVERYBODY),
  cloneTemplate: ofAgents(MANAGERS),
  listEvents: ofAgents(EVERYBODY),
  getCredits: ofAgents(EVERYBODY),
  listCreditHistory: ofAgents(EVERYBODY),
  ingestEvent: ofAgents(MANAGERS),
  explainEvent: ofAgents(EVERYBODY),
  getSession: inConsole(EVERYBODY),
  signOut: inConsole(EVERYBODY),
  listApiKeys: inConsole(MANAGERS),
  createApiKey: inConsole(MANAGERS),
  getApiKey: inConsole(MANAGERS),
  updateApiKey: inConsole(MANAGERS),
  rotateApiKey: inConsole(MANAGERS),
  revokeApiKey: inConsole(MANAGERS),
  listAuditLog: inConsole(MANAGERS),
  verifyAuditLog: inConsole(MANAGERS),
  getApiKeyUsage: inConsole(MANAGERS),
  listDeprecations: inConsole(MANAGERS),
  listWebhooks: { scopes: ['Console'], roles: WORKERS },
  createWebhook: { scopes: ['Console'], roles: MANAGERS },
  getWebhook: { scopes: ['Console'], roles: WORKERS },
  updateWebhook: { scopes: ['Console'], roles: MANAGERS },
  deleteWebhook: { scopes: ['Console'], roles: MANAGERS },
  rotateWebhookSecret: { scopes: ['Console'], roles: MANAGERS },
  enableWebhook: { scopes: ['Console'], roles: MANAGERS },
  disableWebhook: { scopes: ['Console'], roles: MANAGERS },
  listEventTypes: { scopes: ['Console'], roles: WORKERS },
  testWebhook: { scopes: ['Console'], roles: MANAGERS },
  listWebhookDeliveries: { scopes: ['Console'], roles: WORKERS },
  retryWebhookDelivery: { scopes: ['Console'], roles: MANAGERS },
  replayWebhook: { scopes: ['Console'], roles: MANAGERS },
  readEventLog: { scopes: ['Console'], roles: WORKERS },
  createPortalSession: { scopes: ['Portal'], roles: MANAGERS },
  listPortalSessions: { scopes: ['Portal'], roles: MANAGERS },
  revokePortalSession: { scopes: ['Portal'], roles: MANAGERS },
  renewPortalSession: PORTAL_ONLY,
  endPortalSession: PORTAL_ONLY,
  getRateLimit: { scopes: PRODUCT_SCOPES, roles: EVERYBODY },
};

/** Product resources have no rows of their own: all follow these. */
const ACTIONS: Record<ProductAction, readonly Role[]> = {
  list: EVERYBODY,
  get: EVERYBODY,
  batchGet: EVERYBODY,
  count: EVERYBODY,
  create: WORKERS,
  update: WORKERS,
  delete: MANAGERS,
  restore: WORKERS,
  act: WORKERS,
  getCurrent: EVERYBODY,
  updateCurrent: WORKERS,
};
const SCOPES: Record<string, string> = {
  psa: 'PSA',
  crm: 'CRM',
  books: 'Books',
  rmm: 'RMM',
  security: 'Security',
  defend: 'Defend',
  backups: 'Backups',
  voice: 'Voice',
  portal: 'Portal',
  console: 'Console',
};
const PRODUCT_ROWS: Record<string, Row> = Object.fromEntries(
  productRoutes.map(({ operation: { id, service }, action }) => [
    id,
    { scopes: [SCOPES[service] ?? ''], roles: ACTIONS[action] },
  ]),
);

/** Routes that ask for no credential at all. */
const PUBLIC = ['redeemSignInCode', 'requestSignInCode', 'signIn'];

const operations = boundOperations().flatMap((bound) => bound.operations);
const guarded = operations.filter(({ access }) => access.kind !== 'public');

const base = { orgId: 'org_1', tier: 'enterprise', id: 'x' } as const;
const withScope = (scope: string): Principal => ({
  ...base,
  kind: 'key',
  keyId: 'x',
  name: 'x',
  keyTier: 'enterprise',
  apiVersion: '2026-11-20',
  scopes: [scope],
});
const inRole = (role: Role): Principal => ({
  ...base,
  kind: 'session',
  sessionId: 's',
  email: '',
  permissions: permissionsOf(role),
});

/** What the guard would say, scope by scope and role by role. */
const measured = ({ access }: Operation): Row => ({
  scopes: PRODUCT_SCOPES.filter((scope) => authorise(withScope(scope), access) === null),
  roles: ROLES.filter((role) => authorise(inRole(role), access) === null),
});

const sorted = ({ scopes, roles }: Row) => ({ scopes: scopes.toSorted(), roles: roles.toSorted() });

test('nothing but signing in is open to everybody', () => {
  expect(
    operations
      .filter((operation) => !guarded.includes(operation))
      .map(({ id }) => id)
      .toSorted(),
  ).toEqual(PUBLIC);
});

test('every operation opens to the scopes and roles of its row here, and to no others', () => {
  const written = { ...PRODUCT_ROWS, ...ROWS };
  const wrong = guarded
    .map((operation) => ({ id: operation.id, is: sorted(measured(operation)), row: written[operation.id] }))
    .filter(({ is, row }) => JSON.stringify(is) !== JSON.stringify(row && sorted(row)));
  expect(wrong).toEqual([]);
});

test('no row is about an operation that is gone', () => {
  const ids = new Set(operations.map(({ id }) => id));
  expect(Object.keys(ROWS).filter((id) => !ids.has(id))).toEqual([]);
});

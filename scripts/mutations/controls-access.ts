/** Who may do what: threats 1 to 7. */
import type { Control } from './mutation';

const RECORDS = 'src/store/resources.ts';
const SESSION = 'src/services/console/session.ts';
const KEYS = 'src/services/console/keys.ts';
const MAIL = 'src/services/product/portal-mail.ts';

const TENANTS = 'test/integration/threats/01-tenant-isolation.test.ts';
const SIDE_DOORS = 'test/integration/threats/02-side-doors.test.ts';
const PORTAL = 'test/integration/auth/portal-reach.test.ts';
const FUNCTIONS = 'test/integration/threats/04-function-level.test.ts';
const SCOPES = 'test/integration/threats/05-scope-escalation.test.ts';
const AT_REST = 'test/integration/threats/06-key-at-rest.test.ts';
const TIMES = 'test/integration/threats/07-guessing-by-time.test.ts';

export const ACCESS: readonly Control[] = [
  {
    threat: 1,
    bug: 'an approval is found by its id, whoever has it',
    file: 'src/store/approvals.ts',
    before: 'findOne({ _id: id, org_id: orgId }).lean',
    after: 'findOne({ _id: id }).lean',
    test: TENANTS,
    name: 'GET /agents/api/approvals/:id$',
    needsApi: true,
  },
  {
    threat: 2,
    bug: 'a record may name one of another tenant',
    file: 'src/store/resource-texts.ts',
    before: '...placed(place) }',
    after: '}',
    test: SIDE_DOORS,
    name: 'POST /psa/api/tickets companyId takes no record',
    needsApi: true,
  },
  {
    threat: 2,
    bug: 'a batch answers the records of all tenants',
    file: RECORDS,
    before: '{ _id: { $in: [...ids] }, ...live(place) }',
    after: '{ _id: { $in: [...ids] }, deletedAt: null }',
    test: SIDE_DOORS,
    name: 'POST /psa/api/tickets/batch names foreign ids',
    needsApi: true,
  },
  {
    threat: 2,
    bug: 'a cursor opens the executions of another tenant',
    file: 'src/services/agents/executions.ts',
    before: '  orgId,\n  path,\n',
    after: '  path,\n',
    test: SIDE_DOORS,
    name: 'GET /agents/api/executions cursor opens',
    needsApi: true,
  },
  {
    threat: 3,
    bug: 'a client reads the records of all clients',
    file: 'src/services/product/portal-scope.ts',
    before: "return [{ field: 'companyId', operator: 'eq', values: [principal.companyId] }, ...hidden(reach)];",
    after: 'return hidden(reach);',
    test: PORTAL,
    name: 'lists, filters, batches and pages show the own client alone',
    needsApi: true,
  },
  {
    threat: 3,
    bug: 'a portal token reaches what nobody declared for it',
    file: 'src/http/auth-access.ts',
    before: "if (portal === undefined) return problem(code, { message: 'Portal tokens do not reach this endpoint.' });",
    after: 'if (portal === undefined) return null;',
    test: PORTAL,
    name: 'every operation beside the table refuses the role viewer',
    needsApi: true,
  },
  {
    threat: 4,
    bug: 'a route without a declared access is served',
    file: 'src/http/mount.ts',
    before: 'if (!access) throw new Error(',
    after: 'if (!access) console.warn(',
    test: FUNCTIONS,
    name: 'a route without a declared access',
    needsApi: true,
  },
  {
    threat: 4,
    bug: 'a role does what another one may',
    file: 'src/http/auth-access.ts',
    before: 'if (principal.permissions.has(permission)) return null;',
    after: 'if (principal.permissions.size > 0) return null;',
    test: 'test/contract/access.test.ts',
  },
  {
    threat: 4,
    bug: 'a body is read before the caller is known',
    file: 'src/http/mount.ts',
    before: 'const { admission, begun } = await enter(route, exchange, parts);',
    after:
      'if (route.body) await parseBody(request, response);\n      const { admission, begun } = await enter(route, exchange, parts);',
    test: FUNCTIONS,
    name: 'rights are looked at before a body is',
    needsApi: true,
  },
  {
    threat: 5,
    bug: 'a new key holds what its giver does not',
    file: KEYS,
    before: '    requireGrantable(principal, body);\n',
    after: '',
    test: SCOPES,
    name: 'Books is not granted without',
    needsApi: true,
  },
  {
    threat: 5,
    bug: 'an edited key holds what its giver does not',
    file: KEYS,
    before: 'if (body.scopes) requireGrantable(principal, { kind: held.kind, scopes: body.scopes });',
    after: '',
    test: SCOPES,
    name: 'Books is not granted without',
    needsApi: true,
  },
  {
    threat: 5,
    bug: 'a rotated key holds what its giver does not',
    file: KEYS,
    before: '    requireGrantable(principal, held);\n',
    after: '',
    test: SCOPES,
    name: 'Books is not granted without',
    needsApi: true,
  },
  {
    threat: 6,
    bug: 'keys are hashed without the pepper',
    file: 'src/domain/api-key.ts',
    before: "createHmac('sha256', pepper)",
    after: "createHmac('sha256', pepper.slice(0, 0))",
    test: AT_REST,
    needsApi: true,
  },
  {
    threat: 6,
    bug: 'what is shown once is kept for replays',
    file: 'src/http/idempotency.ts',
    before: 'return { ...body, [secret]: null, [`${secret}Shown`]: true };',
    after: 'return body;',
    test: AT_REST,
    name: 'a dump of the whole store',
    needsApi: true,
  },
  {
    threat: 7,
    bug: 'a refusal tells that somebody else has the record',
    file: 'src/services/product/call.ts',
    before: 'if (!record) throw noSuchRecord(place.row);',
    after: `const others = { ...place, tenantId: { $ne: place.tenantId } as never };
  if (!record && (await findResource(call.context.store, others, call.params.id))) throw problem('forbidden');
  if (!record) throw noSuchRecord(place.row);`,
    test: TENANTS,
    name: 'GET /psa/api/companies/:id$',
    needsApi: true,
  },
  {
    threat: 7,
    bug: 'a password is hashed only for somebody',
    file: SESSION,
    before: 'await verifyPassword(credentials.password, user?.passwordHash ?? null);',
    after: 'user !== null && (await verifyPassword(credentials.password, user.passwordHash));',
    test: TIMES,
    name: 'a wrong password of somebody',
    needsApi: true,
  },
  {
    threat: 7,
    bug: 'a sign-in code is made only for somebody',
    file: MAIL,
    before:
      '    await insertSignInCodes(store, records);\n    await throttle(context, { ...asker, createdAt }, records);\n',
    after:
      '    if (doors.length > 0) await insertSignInCodes(store, records);\n    if (doors.length > 0) await throttle(context, { ...asker, createdAt }, records);\n',
    test: TIMES,
    name: 'the answer about a sign-in code',
    needsApi: true,
  },
];

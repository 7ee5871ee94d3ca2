/** The product APIs as they were agreed on: 36 resources at 38 addresses, each with a collection and eight operations. */
import { productRoutes } from '../../../src/contracts/operations/products';
import { RESOURCES } from '../../../src/resources/registry';
import type { Resource } from '../../../src/resources/resource';
import { AGREED } from './agreed';

const ADDRESSES: Record<string, string> = {
  '/psa/api/tickets': 'tkt',
  '/psa/api/boards': 'brd',
  '/psa/api/time-entries': 'tim',
  '/psa/api/contacts': 'con',
  '/psa/api/companies': 'cmp',
  '/psa/api/service-catalog': 'svc',
  '/crm/api/contacts': 'con',
  '/crm/api/companies': 'cmp',
  '/crm/api/deals': 'del',
  '/crm/api/activities': 'act',
  '/books/api/invoices': 'inv',
  '/books/api/payments': 'pay',
  '/books/api/entities': 'ent',
  '/books/api/accounts': 'acc',
  '/rmm/api/devices': 'dev',
  '/rmm/api/scripts': 'scr',
  '/rmm/api/patch-policies': 'ppl',
  '/rmm/api/alerts': 'ral',
  '/security/api/alerts': 'sal',
  '/security/api/rules': 'rul',
  '/security/api/incidents': 'inc',
  '/security/api/mitre-mappings': 'mit',
  '/defend/api/endpoints': 'edp',
  '/defend/api/detections': 'det',
  '/defend/api/response-actions': 'rsp',
  '/backups/api/jobs': 'bjb',
  '/backups/api/schedules': 'bsc',
  '/backups/api/restore-points': 'rpt',
  '/voice/api/call-logs': 'cal',
  '/voice/api/recordings': 'rec',
  '/voice/api/contacts': 'vct',
  '/portal/api/client-users': 'pcu',
  '/portal/api/portal-settings': 'pst',
  '/console/api/tenants': 'ten',
  '/console/api/users': 'usr',
  '/console/api/roles': 'rol',
  '/console/api/entity-sync': 'syn',
  '/console/api/workflows': 'wfl',
};

const ACTIONS: Record<string, string[]> = {
  '/crm/api/deals': ['reopen'],
  '/books/api/payments': ['fail'],
  '/defend/api/response-actions': ['result'],
  '/console/api/entity-sync': ['result'],
  '/console/api/workflows': ['result'],
};

const WITH_NOTES = ['/psa/api/tickets'];
const SINGLETONS = ['/portal/api/portal-settings'];

test('there are 36 resources at 38 addresses, each with the prefix of its ids', () => {
  const served = RESOURCES.flatMap(({ products, path, prefix }) =>
    products.map((product) => [`/${product}/api/${path}`, prefix] as const),
  );
  expect(RESOURCES).toHaveLength(36);
  expect(served).toHaveLength(38);
  expect(Object.fromEntries(served)).toEqual(ADDRESSES);
});

test('every address has its eight operations, what its row declares beside them and no other', () => {
  const found = productRoutes.map(({ operation: { method, service, path } }) => `${method} /${service}${path}`);
  const expected = Object.keys(ADDRESSES).flatMap((address) => [
    `GET ${address}`,
    `POST ${address}`,
    `GET ${address}/:id`,
    `PATCH ${address}/:id`,
    `DELETE ${address}/:id`,
    `POST ${address}/batch`,
    `GET ${address}/count`,
    `POST ${address}/:id/restore`,
    ...(SINGLETONS.includes(address) ? [`GET ${address}/current`, `PATCH ${address}/current`] : []),
    ...(WITH_NOTES.includes(address)
      ? [
          `GET ${address}/:id/notes`,
          `POST ${address}/:id/notes`,
          ...['GET', 'PATCH', 'DELETE'].map((method) => `${method} ${address}/:id/notes/:noteId`),
        ]
      : []),
    ...(ACTIONS[address] ?? []).map((name) => `POST ${address}/:id/${name}`),
  ]);
  expect(found.toSorted()).toEqual(expected.toSorted());
});

/** Differences that were decided, each with its reason. */
const DECIDED: Record<string, string> = {
  'tickets.companyId': '*:id', // Decision 0011: a ticket without a company is internal.
  // Limits are read-only but for the platform's operator.
  'tenants.apiTier': '*:choice~',
  'tenants.rateLimitPerMinute': ':integer~',
  'tenants.agentLimit': ':integer~',
  'tenants.creditAllocation': ':integer~',
  'accounts.balance': '*^:integer~', // Null instead of a nought that would look like a balance.
};
/** Fields beyond the agreed ones, needed by a rule. */
const BEYOND = [
  'tickets.closedAt', // The 14 days in which a ticket opens again are counted from it.
  'tickets.slaTarget', // What `slaStatus` speaks of: the response or the resolution.
  'tickets.slaDueAt',
  'invoices.contactId', // Whose address `invoice.overdue` carries.
  'invoices.daysOverdue', // Which of the reminder days have been told.
  'jobs.lastErrorCode', // `error_code` of `job.failed`.
  'jobs.consecutiveFailures', // `consecutive_failures` of `job.failed`.
  'restore-points.expiredAt', // Keeps `restore_point.expired` to one event.
  'workflows.lastRunError', // What `workflow.failed` is about.
];

const KINDS: Record<string, string> = {
  s: 'string',
  t: 'string',
  T: 'string',
  em: 'string',
  ph: 'string',
  u: 'string',
  ip: 'string',
  cur: 'string',
  cc: 'string',
  col: 'string',
  slug: 'string',
  tech: 'string',
  sha: 'string',
  e: 'choice',
  prod: 'choice',
  i: 'integer',
  mny: 'integer',
  b: 'boolean',
  dt: 'datetime',
  d: 'date',
  id: 'id',
  r: 'id',
  's[]': 'strings',
  'e[]': 'strings',
  o: 'json',
  'o[]': 'json',
};

/** `status*^:e{a,b}=a` → name, flags, kind, choices or limits, default. */
function parsed(word: string) {
  const found =
    /^(\w+)([*^!]*):([a-zA-Z]+(?:\[\])?)(?:\{([^}]*)\}|\[(\d+)\.\.(\d+)\]|\(([^)]*)\))?(?:=([^~]*))?(~?)$/.exec(word);
  if (!found) throw new Error(`not in the notation: ${word}`);
  const [, name = '', flags = '', type = '', choices, min, max, , fallback, isServerSet = ''] = found;
  return { name, flags, kind: KINDS[type], choices: choices?.split(','), min, max, fallback, isServerSet };
}

/** A field of the registry in the notation, as far as flags and kind go. */
function flagsOf(row: Resource, name: string): string {
  const { traits } = row.fields[name] ?? {};
  if (!traits) return 'missing';
  const flags = `${traits.isFilterable ? '*' : ''}${traits.isSortable ? '^' : ''}${traits.isRequired ? '!' : ''}`;
  return `${flags}:${traits.kind}${traits.isServerSet ? '~' : ''}`;
}

const inOrder = (flags: string): string => ['*', '^', '!'].filter((flag) => flags.includes(flag)).join('');

describe.each(AGREED.map((agreed) => [agreed.at, agreed] as const))('%s', (at, agreed) => {
  const row = RESOURCES.find(({ products, path }) => `/${products[0]}/api/${path}` === at) as Resource;
  const words = agreed.fields.split(' ').map(parsed);

  test('has the fields that were agreed on, with their flags, and those that a rule needs', () => {
    const expected = words.map(({ name, flags, kind, isServerSet }) => [
      name,
      DECIDED[`${row.key}.${name}`] ?? `${inOrder(flags)}:${kind}${isServerSet ? '~' : ''}`,
    ]);
    const beyond = BEYOND.filter((name) => name.startsWith(`${row.key}.`)).map((name) => name.split('.')[1] ?? '');
    expect(Object.fromEntries(words.map(({ name }) => [name, flagsOf(row, name)]))).toEqual(
      Object.fromEntries(expected),
    );
    expect(Object.keys(row.fields).toSorted()).toEqual([...words.map(({ name }) => name), ...beyond].toSorted());
  });

  test('has the values, limits and defaults that were agreed on', () => {
    for (const { name, choices, min, max, fallback } of words) {
      const schema: Readonly<Record<string, unknown>> = row.fields[name]?.traits.schema ?? {};
      const ours = row.fields[name]?.traits.fallback;
      const items = schema['items'] as Record<string, unknown> | undefined;
      if (choices) expect({ name, choices: schema['enum'] ?? items?.['enum'] }).toEqual({ name, choices });
      if (max) expect({ name, max: schema['maximum'] }).toEqual({ name, max: Number(max) });
      if (min) expect({ name, min: schema['minimum'] }).toEqual({ name, min: Number(min) });
      if (fallback) expect({ name, fallback: String(ours) }).toEqual({ name, fallback });
    }
  });

  test('has the events that were agreed on and no others', () => {
    expect(Object.keys(row.events).toSorted()).toEqual(
      // Who hears of a deletion hears of the return, too.
      [...agreed.events.split(', '), ...(row.events['restored'] ? ['restored'] : [])].toSorted(),
    );
  });
});

/** The product APIs as they were agreed on: 36 resources at 38 addresses, each with a collection and six operations. */
import { productRoutes } from '../../../src/contracts/operations/products';
import { RESOURCES } from '../../../src/resources/registry';

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

test('there are 36 resources at 38 addresses, each with the prefix of its ids', () => {
  const served = RESOURCES.flatMap(({ products, path, prefix }) =>
    products.map((product) => [`/${product}/api/${path}`, prefix] as const),
  );
  expect(RESOURCES).toHaveLength(36);
  expect(served).toHaveLength(38);
  expect(Object.fromEntries(served)).toEqual(ADDRESSES);
});

test('every address has its six operations and no other', () => {
  const found = productRoutes.map(({ operation: { method, service, path } }) => `${method} /${service}${path}`);
  const expected = Object.keys(ADDRESSES).flatMap((address) => [
    `GET ${address}`,
    `POST ${address}`,
    `GET ${address}/:id`,
    `PATCH ${address}/:id`,
    `DELETE ${address}/:id`,
    `POST ${address}/batch`,
  ]);
  expect(found.toSorted()).toEqual(expected.toSorted());
});

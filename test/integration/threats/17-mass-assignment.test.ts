/** Threat 17, mass assignment: no field that only the server sets is taken from a create or a patch. */
import { productRoutes } from '../../../src/contracts/operations/products';
import type { Resource } from '../../../src/resources/resource';
import { joinStack, type Harness } from '../../support/harness';
import { eachOf, everything, type Everything } from '../../support/operations';

let harness: Harness;
let all: Everything;
beforeAll(async () => {
  harness = joinStack();
  all = await everything(harness);
});
afterAll(() => harness.close());

const ALWAYS = [
  'id',
  '_id',
  'version',
  'createdAt',
  'updatedAt',
  'createdBy',
  'tenantId',
  'orgId',
  'org_id',
  'creditAllocation',
];

const serverFields = (row: Resource): string[] => {
  const set = Object.entries(row.fields).filter(([, { traits }]) => traits.isServerSet || traits.countsFrom !== null);
  return [...ALWAYS.filter((name) => !(name in row.fields)), ...set.map(([name]) => name)];
};

const routes = (action: string) => productRoutes.filter((route) => route.action === action);

const withRealIds = (body: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, all.cast.ids[String(value)] ?? value] as const),
  );

test('in a create: 400, naming the field', async () => {
  const faults: string[] = [];
  await eachOf(routes('create'), async ({ operation, resource }) => {
    for (const name of serverFields(resource)) {
      const answer = await all.call(operation, {
        body: { ...withRealIds({ ...resource.examples.create }), [name]: 7 },
      });
      if (answer.status !== 400 || !answer.text.includes(`/${name}`))
        faults.push(`${operation.id} ${name} ${answer.status}`);
    }
  });
  expect(faults).toEqual([]);
});

test('in a patch: 400, and the record stays as it was', async () => {
  const faults: string[] = [];
  const reads = new Map(routes('get').map(({ operation }) => [`${operation.service}${operation.path}`, operation]));
  await eachOf(routes('update'), async ({ operation, resource }) => {
    const read = reads.get(`${operation.service}${operation.path}`) ?? operation;
    const before = await all.call(read);
    if (before.status !== 200) faults.push(`${read.id} ${before.status}`);
    for (const name of serverFields(resource)) {
      const answer = await all.call(operation, { body: { [name]: 7 } });
      if (answer.status !== 400 || !answer.text.includes(`/${name}`))
        faults.push(`${operation.id} ${name} ${answer.status}`);
    }
    if ((await all.call(read)).text !== before.text) faults.push(`${operation.id} changed the record`);
  });
  expect(faults).toEqual([]);
});

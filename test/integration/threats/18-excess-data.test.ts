/** Threat 18, excess data: a stored field that no contract knows never leaves, whichever operation reads the record. */
import { joinStack, type Harness } from '../../support/harness';
import { eachOf, everything, reachable, type Everything } from '../../support/operations';

const FIELD = 'zzInternalNote';
const SECRET = 'never-to-be-seen-9f2c';

let harness: Harness;
let all: Everything;
beforeAll(async () => {
  harness = joinStack();
  all = await everything(harness);
});
afterAll(() => harness.close());

/** Puts the field into every document of the tenant, in every collection. */
async function mark(): Promise<number> {
  const { orgId } = all.cast;
  const database = harness.store.connection.db;
  if (!database) throw new Error('the store is not connected');
  let marked = 0;
  for (const { name } of await database.listCollections().toArray()) {
    const ofTenant = { $or: ['orgId', 'org_id', 'tenantId', 'tenant', 'org'].map((field) => ({ [field]: orgId })) };
    const { matchedCount } = await database.collection(name).updateMany(ofTenant, { $set: { [FIELD]: SECRET } });
    marked += matchedCount;
  }
  return marked;
}

test('no read shows it', async () => {
  expect(await mark()).toBeGreaterThan(60);
  const shown: string[] = [];
  const read: string[] = [];
  const reads = reachable.filter(({ method, path }) => method === 'GET' || path.endsWith('/batch'));
  await eachOf(reads, async (operation) => {
    const ids = Object.values(all.cast.ids);
    const answer = await all.call(operation, operation.method === 'POST' ? { body: { ids: ids.slice(0, 100) } } : {});
    if (answer.status === 200) read.push(operation.id);
    if (answer.text.includes(FIELD) || answer.text.includes(SECRET)) shown.push(operation.id);
  });
  expect(shown).toEqual([]);
  expect(read.length).toBeGreaterThan(reads.length * 0.9);
});

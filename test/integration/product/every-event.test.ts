/** Every event that a row declares really comes, and names its client: for each there is a write that makes it. */
import { derivedId } from '../../../src/domain/ids';
import { firingOf } from '../../../src/resources/events';
import { RESOURCES, resourceOf } from '../../../src/resources/registry';
import type { AnyRecord, EventRule, Resource } from '../../../src/resources/resource';
import { joinStack, waitFor, type Harness, type TestOrg } from '../../support/harness';

type Values = Record<string, unknown>;

let harness: Harness;
let org: TestOrg;
beforeAll(async () => {
  harness = joinStack();
  org = await harness.newOrg();
});
afterAll(() => harness.close());

const addressOf = ({ products, path }: Resource): string => `/${products[0]}/api/${path}`;

async function write(method: string, path: string, body?: Values): Promise<AnyRecord> {
  const { status, text, body: record } = await org.call(method, path, body);
  if (status >= 300) throw new Error(`${method} ${path} was answered ${status}: ${text}`);
  return record as unknown as AnyRecord;
}

/** The row's own example, with records that exist wherever it names one that `more` does not. */
async function create(row: Resource, more: Readonly<Values> = {}): Promise<AnyRecord> {
  const body: Values = { ...row.examples.create, ...more };
  for (const name of Object.keys(row.examples.create)) {
    const target = row.fields[name]?.traits.target;
    if (target && more[name] === undefined) body[name] = (await create(resourceOf(target))).id;
  }
  return write('POST', addressOf(row), body);
}

/** A record that counts for the row's figure. */
async function createCounted({ tally }: Resource, id: string): Promise<void> {
  if (!tally) throw new Error('an event of a tally needs a tally');
  const states = Object.entries(tally.where).map(([name, [first]]) => [name, first]);
  await create(resourceOf(tally.from), { ...(Object.fromEntries(states) as Values), [tally.by]: id });
}

/** Does what the rule says makes its event; answers the version that the event is of. */
async function fire(row: Resource, rule: EventRule<AnyRecord>): Promise<{ id: string; version: number }> {
  const { given, change, act, by } = firingOf(row, rule);
  const { id, version } = await create(row, given);
  const at = `${addressOf(row)}/${id}`;
  if (rule.on === 'create') return { id, version };
  if (rule.on !== 'update') {
    await write('DELETE', at);
    if (rule.on === 'delete') return { id, version: version + 1 };
    return write('POST', `${at}/restore`);
  }
  if (by === 'tally') {
    await createCounted(row, id);
    return write('GET', at);
  }
  return act ? write('POST', `${at}/${act}`, change) : write('PATCH', at, change);
}

const COMPANY_NAME = String(resourceOf('companies').examples.create['name']);

/** What people are told of the client an event is about; a company's own events have its name already. */
const clientNameOf = (row: Resource, clientId: unknown): string | undefined =>
  typeof clientId === 'string' && row.key !== 'companies' ? COMPANY_NAME : undefined;

const declared = RESOURCES.flatMap((row) =>
  Object.entries(row.events)
    // What time makes is shown by test/workflow/timed.test.ts, which counts them.
    .filter(([, { fires }]) => fires?.by !== 'timer')
    .map(([name, rule]) => ({ id: `${row.eventProduct}:${row.singular}.${name}`, name, row, rule })),
);

test.each(declared)('$id comes', async ({ name, row, rule }) => {
  const { id, version } = await fire(row, rule);
  const type = `${row.singular}.${name}`;
  const found = await waitFor(
    async () => {
      const answer = await org.call('GET', `/agents/api/event-log/${derivedId('evt', id, version, type)}`);
      return answer.status === 200 && answer.body;
    },
    { what: `${type} of ${id} at version ${version}`, timeoutMs: 10_000 },
  );
  expect(found).toMatchObject({ event_type: type, source_product: row.eventProduct });
  const { client_id: clientId, client_name: clientName } = found['payload'] as Values;
  expect(clientName ?? undefined).toBe(clientNameOf(row, clientId));
});

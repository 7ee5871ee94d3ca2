/** Threat 20, deep and huge JSON: refused by every operation that takes a body, before it costs anything. */
import type { Operation } from '../../../src/contracts/operation';
import { joinStack, type Harness } from '../../support/harness';
import { eachOf, everything, reachable, type Everything } from '../../support/operations';

const DEPTH = 100_000;
const MS_MAX = 1_000;

let harness: Harness;
let all: Everything;
beforeAll(async () => {
  harness = joinStack();
  all = await everything(harness);
});
afterAll(() => harness.close());

const takers = reachable.filter(({ body }) => body !== undefined);
const deepArray = `${'['.repeat(DEPTH)}${']'.repeat(DEPTH)}`;
const DEEP_OBJECTS = 20_000;
const deepObject = `${'{"a":'.repeat(DEEP_OBJECTS)}1${'}'.repeat(DEEP_OBJECTS)}`;

/** A few bytes more than the operation takes. */
const tooLong = ({ bodyBytesMax = 256 * 1024 }: Operation): string =>
  JSON.stringify({ text: 'x'.repeat(bodyBytesMax) });

test.each<[string, (operation: Operation) => string, number]>([
  ['an array of a hundred thousand levels', () => deepArray, 400],
  ['an object of twenty thousand levels', () => deepObject, 400],
  ['a body of more bytes than the contract needs', tooLong, 413],
])('%s', async (_name, bodyFor, right) => {
  const faults: string[] = [];
  await eachOf(takers, async (operation) => {
    const { status, text } = await all.call(operation, { body: bodyFor(operation) });
    if (status !== right || !text.startsWith('{"error"'))
      faults.push(`${operation.id}: ${status} ${text.slice(0, 80)}`);
  });
  expect(faults).toEqual([]);
});

test('a field that takes any JSON takes no deeper one', async () => {
  const org = await harness.newOrg();
  const ingest = (levels: number) => {
    const payload: unknown = JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`);
    return org.call('POST', '/agents/api/events/ingest', {
      source_product: 'psa',
      event_type: 'custom.deep',
      payload,
    });
  };
  expect((await ingest(30)).status).toBe(202);
  const refused = await ingest(40);
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('too_deep') as string]);
});

test('it is refused at once', async () => {
  const [operation] = takers;
  if (!operation) throw new Error('no operation takes a body');
  const times: number[] = [];
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const startedAt = performance.now();
    await all.call(operation, { body: deepArray });
    times.push(performance.now() - startedAt);
  }
  expect(Math.min(...times)).toBeLessThan(MS_MAX);
});

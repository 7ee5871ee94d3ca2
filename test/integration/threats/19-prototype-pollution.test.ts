/** Threat 19, prototype pollution: its names in a body are unknown fields, and change nothing for the next request. */
import { joinStack, type Harness } from '../../support/harness';
import { eachOf, everything, exampleOf, reachable, type Everything } from '../../support/operations';

let harness: Harness;
let all: Everything;
beforeAll(async () => {
  harness = joinStack();
  all = await everything(harness);
});
afterAll(() => harness.close());

/** As text: in a literal `__proto__` would set the prototype and never be sent. */
const PAYLOADS = [
  '"__proto__":{"polluted":"yes"}',
  '"constructor":{"prototype":{"polluted":"yes"}}',
  '"prototype":{"polluted":"yes"}',
];

test('400 from every operation that takes a body, and nothing is polluted', async () => {
  const faults: string[] = [];
  const takers = reachable.filter(({ body }) => body !== undefined);
  await eachOf(takers, async (operation) => {
    const example = JSON.stringify(exampleOf(operation)).slice(1, -1);
    for (const payload of PAYLOADS) {
      const { status, text } = await all.call(operation, { body: `{${example ? `${example},` : ''}${payload}}` });
      if (status !== 400) faults.push(`${operation.id} ${payload}: ${status} ${text.slice(0, 100)}`);
    }
  });
  expect(faults).toEqual([]);
  // A polluted prototype would be an unknown field of every body from then on.
  const create = takers.find(({ id }) => id === 'createTicket');
  expect(create && (await all.call(create, { body: { subject: 'Still as it was' } })).status).toBe(201);
});

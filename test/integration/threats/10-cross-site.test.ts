/** A page of somebody else cannot act with the visitor's cookie: on no operation that changes anything. */
import type { Operation } from '../../../src/contracts/operation';
import { exampleOf, nameOf, openBorder, operations, type Border, type Tenant } from './tenants';

let border: Border;
let tenant: Tenant;
let other: Tenant;
beforeAll(async () => {
  border = openBorder();
  [tenant, other] = await Promise.all([border.newTenant({ isEmpty: true }), border.newTenant({ isEmpty: true })]);
});
afterAll(() => border.stop());

const unsafe = operations
  .filter(({ method, access }) => method !== 'GET' && access.kind !== 'public')
  .map((operation) => [nameOf(operation), operation] as const);

const ID = 'tkt_00000000000000000000000000';
const send = (operation: Operation, headers: Record<string, string>) =>
  border.call(operation, { id: ID, body: exampleOf(operation), headers });

test.each(unsafe)('%s', async (_name, operation) => {
  const { cookie = '', 'x-csrf-token': token = '' } = tenant.sessions.owner;
  const own = { cookie, 'x-csrf-token': token };
  const attempts: Record<string, string>[] = [
    { cookie },
    { cookie, 'x-csrf-token': other.sessions.owner['x-csrf-token'] ?? '' },
    { ...own, origin: 'https://evil.example' },
    { ...own, origin: 'null' },
    { ...own, 'sec-fetch-site': 'cross-site' },
    // What a form of another site can send.
    { cookie, origin: 'https://evil.example', 'content-type': 'text/plain' },
  ];
  const answers = await Promise.all(attempts.map((headers) => send(operation, headers)));
  for (const [index, answer] of answers.entries())
    expect([attempts[index], answer.status, answer.text]).toEqual([
      attempts[index],
      403,
      expect.stringMatching(/csrf_failed|CSRF_FAILED/),
    ]);
});

test('with the token, the same session is let in', async () => {
  const answers = await Promise.all(
    unsafe
      .filter(([, { path }]) => path.includes('/:'))
      .map(async ([name, operation]) => [name, (await send(operation, tenant.sessions.owner)).status]),
  );
  expect(answers.filter(([, status]) => status !== 404)).toEqual([]);
});

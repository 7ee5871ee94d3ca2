/** Polling on a spent limit: a 304 is free, and everything else is the refusal, whatever the request would have met. */
import { phaseOf, WINDOW_MS } from '../../../src/domain/rate-limit';
import { joinStack, type Harness, type TestOrg } from '../../support/harness';

let harness: Harness;
beforeAll(() => {
  harness = joinStack();
});
afterAll(() => harness.close());

const TICKETS = '/psa/api/tickets';
const WINDOW_NEEDED_MS = 30_000;

/** An org whose window will not end while the test runs; every tenant's ends at another moment. */
async function orgWithTime(rate: number): Promise<TestOrg> {
  for (;;) {
    const org = await harness.newOrg({ rate });
    const sinceStart = (Date.now() - phaseOf(org.id)) % WINDOW_MS;
    if (WINDOW_MS - sinceStart > WINDOW_NEEDED_MS) return org;
  }
}

test('what is not there, and what cannot be asked, is told as 429 like all else', async () => {
  const org = await orgWithTime(3);
  const known = await org.call('GET', TICKETS);
  const missing = `${TICKETS}/tkt_01KAJ5Q3Z8M4T7V9X2B6C1D0EF`;
  expect((await org.call('GET', missing)).status).toBe(404);
  expect((await org.call('GET', `${TICKETS}?nope=1`)).status).toBe(400);
  expect((await org.call('GET', missing)).status).toBe(429);
  const poll = async (path: string, tag = 'W/"x"') => {
    const answer = await org.call('GET', path, undefined, { 'if-none-match': tag });
    return [answer.status, answer.headers.has('retry-after')];
  };
  expect(await poll(missing)).toEqual([429, true]);
  expect(await poll(`${TICKETS}?nope=1`)).toEqual([429, true]);
  expect(await poll(TICKETS)).toEqual([429, true]);
  expect(await poll(TICKETS, known.headers.get('etag') ?? '')).toEqual([304, false]);
});

test('a refused poll carries nothing of the answer it would have had: a cache that kept it would show it for the answer', async () => {
  const org = await orgWithTime(1);
  await org.call('GET', TICKETS);
  const refused = await org.call('GET', TICKETS, undefined, { 'if-none-match': 'W/"x"' });
  expect(refused.status).toBe(429);
  expect([refused.headers.get('etag'), refused.headers.get('cache-control')]).toEqual([null, 'private, no-store']);
});

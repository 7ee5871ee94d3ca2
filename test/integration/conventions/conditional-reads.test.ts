/** Every read has a tag, and who sends it back is told that nothing changed, for nothing. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Operation } from '../../../src/contracts/operation';
import { joinStack, list, text, type Answer, type Harness } from '../../support/harness';
import { eachOf, everything, reachable, type Everything } from '../../support/operations';

/** What they answer differs with every request: what is left of the limits, and how long for. */
const NEVER_THE_SAME = new Set(['getRateLimit']);

let harness: Harness;
let all: Everything;
beforeAll(async () => {
  harness = joinStack();
  all = await everything(harness);
});
afterAll(() => harness.close());

const reads = reachable.filter(({ method }) => method === 'GET');

/** Executions that the cast started may still be under way and count in what is read: then the new tag is tried. */
const TRIES = 10;

async function readAgain(operation: Operation, first: string): Promise<{ tag: string; again: Answer }> {
  let tag = first;
  for (let tried = 1; ; tried += 1) {
    const again = await all.call(operation, { headers: { 'if-none-match': tag } });
    const now = again.headers.get('etag') ?? '';
    if (again.status !== 200 || now === tag || tried === TRIES) return { tag, again };
    tag = now;
    await delay(tried * 50);
  }
}

test('every read that finds something carries an ETag; with it the answer is 304 without a body', async () => {
  const faults: string[] = [];
  let found = 0;
  await eachOf(reads, async (operation) => {
    const first = await all.call(operation);
    if (first.status !== 200) return;
    found += 1;
    const sent = first.headers.get('etag') ?? '';
    if (!sent.startsWith('W/"')) faults.push(`${operation.id}: no tag`);
    if (NEVER_THE_SAME.has(operation.id)) return;
    const { tag, again } = await readAgain(operation, sent);
    if (again.status !== 304 || again.text !== '' || again.headers.get('etag') !== tag)
      faults.push(`${operation.id}: ${again.status} ${again.text.slice(0, 200)}`);
  });
  expect(faults).toEqual([]);
  expect(found).toBeGreaterThan(120);
});

test('a read of the head alone is answered like the read', async () => {
  const org = await harness.newOrg();
  const read = await org.call('GET', '/console/api/event-types');
  const tag = { 'if-none-match': read.headers.get('etag') ?? '' };
  const before = Number(read.headers.get('x-ratelimit-remaining'));
  const head = await org.call('HEAD', '/console/api/event-types', undefined, tag);
  expect(head.status).toBe(304);
  // More when a minute has begun in between.
  expect(Number(head.headers.get('x-ratelimit-remaining'))).toBeGreaterThanOrEqual(before);
});

test('a page that leads on has the same tag each time it is read, and another once its rows change', async () => {
  const org = await harness.newOrg();
  const path = '/console/api/webhooks?limit=1';
  const add = () =>
    org.call('POST', '/console/api/webhooks', { url: 'https://hooks.example/in', eventTypes: ['psa:ticket.created'] });
  await add();
  await add();
  const first = await org.call('GET', path);
  expect(first.body['hasMore']).toBe(true);
  const tag = { 'if-none-match': first.headers.get('etag') ?? '' };
  expect((await org.call('GET', path, undefined, tag)).status).toBe(304);
  const id = text(list(first.body['items'])[0]?.['id']);
  expect((await org.call('PATCH', `/console/api/webhooks/${id}`, { description: 'other' })).status).toBe(200);
  expect((await org.call('GET', path, undefined, tag)).status).toBe(200);
});

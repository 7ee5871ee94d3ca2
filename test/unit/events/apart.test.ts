/** What fails in every pass is tried ever more seldom, and the query for the next pass leaves it out meanwhile. */
import { mongo } from 'mongoose';
import { createApart } from '../../../src/events/apart';
import type { Log } from '../../../src/log';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

function stage() {
  let now = 0;
  const logged: unknown[] = [];
  const log = { warn: (_msg: string, fields?: unknown) => logged.push(fields) } as unknown as Log;
  const apart = createApart(log, () => now);
  return {
    logged,
    resting: () => apart.resting('things'),
    pass: (ids: string[], work: (id: string) => Promise<void>, after = 0): Promise<void> => {
      now += after;
      return apart({ what: 'things', items: ids, idsOf: (id) => ({ id }) }, work);
    },
    wait: (milliseconds: number) => (now += milliseconds),
  };
}

const fails = () => Promise.reject(new Error('never'));
const works = () => Promise.resolve();

test('an item rests for longer after each failure, five minutes at most, and is logged once', async () => {
  const { pass, resting, wait, logged } = stage();
  const rests: number[] = [];
  for (let tries = 0; tries < 12; tries += 1) {
    await pass(['broken'], fails);
    let rested = 0;
    for (; resting().length > 0; rested += 1) wait(SECOND);
    rests.push(rested);
  }
  expect(rests).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
  expect(logged).toHaveLength(1);
});

test('others are worked on, and one that works again begins anew', async () => {
  const { pass, resting } = stage();
  const done: string[] = [];
  const work = async (id: string): Promise<void> => (id === 'broken' ? fails() : void done.push(id));
  await pass(['one', 'broken', 'two'], work);
  expect([done, resting()]).toEqual([['one', 'two'], ['broken']]);
  await pass(['broken'], works, MINUTE);
  expect(resting()).toEqual([]);
  await pass(['broken'], fails);
  await pass([], works, 2 * SECOND);
  expect(resting()).toEqual([]);
});

test('nothing rests because the store is away', async () => {
  const { pass, resting, logged } = stage();
  const away = () => Promise.reject(new mongo.MongoNetworkError('connection 1 closed'));
  for (let tries = 0; tries < 3; tries += 1) await pass(['one'], away, SECOND);
  expect(resting()).toEqual([]);
  expect(logged).toHaveLength(1);
});

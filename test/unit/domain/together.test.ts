import { together } from '../../../src/domain/together';
import { waitFor } from '../../support/harness';

const ROUND = { max: 3, patienceMs: 60_000 };

/** Rounds that end when they are told to. */
function heldRounds() {
  const rounds: { lane: string; items: number[]; end: (error?: Error) => void }[] = [];
  const round = (lane: string, items: number[]): Promise<string[]> =>
    new Promise((resolve, reject) => {
      const end = (error?: Error): void => (error ? reject(error) : resolve(items.map((item) => `${lane}${item}`)));
      rounds.push({ lane, items, end });
    });
  return { rounds, round };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('the first goes alone and at once, the others together behind it, in order and no more than fit', async () => {
  const { rounds, round } = heldRounds();
  const ask = together(ROUND, round);
  const answers = Promise.all([1, 2, 3, 4, 5].map((item) => ask('a', item)));
  expect(rounds.map(({ items }) => items)).toEqual([[1]]);
  rounds[0]?.end();
  await settled();
  expect(rounds.map(({ items }) => items)).toEqual([[1], [2, 3, 4]]);
  rounds[1]?.end();
  await settled();
  expect(rounds.map(({ items }) => items)).toEqual([[1], [2, 3, 4], [5]]);
  rounds[2]?.end();
  expect(await answers).toEqual(['a1', 'a2', 'a3', 'a4', 'a5']);
});

test('lanes do not wait for each other', async () => {
  const { rounds, round } = heldRounds();
  const ask = together(ROUND, round);
  const answers = Promise.all([ask('a', 1), ask('b', 2)]);
  expect(rounds.map(({ lane }) => lane)).toEqual(['a', 'b']);
  for (const { end } of rounds) end();
  expect(await answers).toEqual(['a1', 'b2']);
});

test('a round that fails fails for those in it, and for nobody behind it', async () => {
  const { rounds, round } = heldRounds();
  const ask = together(ROUND, round);
  const answers = Promise.allSettled([ask('a', 1), ask('a', 2)]);
  rounds[0]?.end(new Error('away'));
  await settled();
  rounds[1]?.end();
  expect((await answers).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
});

test('whoever comes when a round has taken too long begins another, with all who wait', async () => {
  const clock = jest.spyOn(performance, 'now').mockReturnValue(1_000);
  const { rounds, round } = heldRounds();
  const ask = together({ max: 10, patienceMs: 20 }, round);
  const answers = [ask('a', 1), ask('a', 2)];
  expect(rounds).toHaveLength(1);
  clock.mockReturnValue(1_021);
  answers.push(ask('a', 3));
  expect(rounds.map(({ items }) => items)).toEqual([[1], [2, 3]]);
  rounds[1]?.end();
  expect(await answers[2]).toBe('a3');
  // The first one goes on meanwhile, and what comes now waits for neither.
  answers.push(ask('a', 4));
  rounds[0]?.end();
  await settled();
  rounds[2]?.end();
  expect(await Promise.all(answers)).toEqual(['a1', 'a2', 'a3', 'a4']);
  clock.mockRestore();
});

test('who waits behind a round that takes too long begins another, though nobody else comes', async () => {
  const { rounds, round } = heldRounds();
  const ask = together({ max: 1, patienceMs: 20 }, round);
  const answers = [ask('a', 1), ask('a', 2), ask('a', 3)];
  await waitFor(() => Promise.resolve(rounds.length === 3));
  expect(rounds.map(({ items }) => items)).toEqual([[1], [2], [3]]);
  for (const { end } of rounds) end();
  expect(await Promise.all(answers)).toEqual(['a1', 'a2', 'a3']);
});

test('a lane that is empty again begins anew', async () => {
  const { rounds, round } = heldRounds();
  const ask = together(ROUND, round);
  for (const item of [1, 2]) {
    const answer = ask('a', item);
    rounds[item - 1]?.end();
    expect(await answer).toBe(`a${item}`);
  }
  expect(rounds.map(({ items }) => items)).toEqual([[1], [2]]);
});

test('what a round leaves to be told later holds up nobody but who asked for it', async () => {
  let tell: (answer: string) => void = () => undefined;
  const later = new Promise<string>((resolve) => {
    tell = resolve;
  });
  const ask = together(ROUND, (_lane, items: number[]) =>
    Promise.resolve(items.map((item) => (item === 1 ? later : `a${item}`))),
  );
  const first = ask('a', 1);
  expect(await ask('a', 2)).toBe('a2');
  tell('told');
  expect(await first).toBe('told');
});

test('a refusal that a round leaves for one of its own reaches nobody else', async () => {
  const ask = together(ROUND, (_lane, items: number[]) =>
    Promise.resolve(items.map((item) => (item === 2 ? Promise.reject(new Error('refused')) : item))),
  );
  const answers = await Promise.allSettled([1, 2, 3].map((item) => ask('a', item)));
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

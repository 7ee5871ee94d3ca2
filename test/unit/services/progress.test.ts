import { Progress } from '../../../scripts/services/progress';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

test('long work is never silent for two seconds, and all that runs shares one line', async () => {
  const lines: string[] = [];
  const progress = new Progress((line) => lines.push(line));
  const compile = deferred();
  const unpack = deferred();
  const first = progress.track('engine', async (report) => {
    report('12 packages');
    await compile.promise;
  });
  const second = progress.track('store', () => unpack.promise);
  await jest.advanceTimersByTimeAsync(1_999);
  expect(lines).toEqual(['… engine (2 s, 12 packages) | store (2 s)']);
  compile.resolve();
  await first;
  await jest.advanceTimersByTimeAsync(1_999);
  expect(lines.slice(1)).toEqual(['engine: done in 2 s', '… store (3 s)']);
  unpack.resolve();
  await second;
  expect(jest.getTimerCount()).toBe(0);
});

test('short work leaves no line', async () => {
  const lines: string[] = [];
  await new Progress((line) => lines.push(line)).track('engine', () => Promise.resolve());
  expect(lines).toEqual([]);
});

test('failed work stops the heartbeat and keeps its error', async () => {
  const progress = new Progress(() => {});
  await expect(progress.track('store', () => Promise.reject(new Error('no disk')))).rejects.toThrow('no disk');
  expect(jest.getTimerCount()).toBe(0);
});

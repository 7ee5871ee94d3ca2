/** Work that comes round again: when passes are made, and what is told of those that fail. */
import { startLoop } from '../../src/loop';

const HOUR_MS = 3_600_000;
const turn = () => new Promise(setImmediate);

/** Makes as many passes as there are outcomes; true is one that does well. */
async function passesOf(outcomes: readonly boolean[]): Promise<{ told: string[]; passes: number }> {
  const told: string[] = [];
  let passes = 0;
  const pass = (): Promise<void> => {
    const isWell = outcomes[passes];
    passes += 1;
    if (passes === outcomes.length) void loop.stop();
    return isWell ? Promise.resolve() : Promise.reject(new Error(`pass ${passes}`));
  };
  const loop = startLoop(() => turn().then(pass), { pauseMs: 1, failed: (error) => told.push(String(error)) });
  while (passes < outcomes.length) await turn();
  await loop.stop();
  return { told, passes };
}

test('of passes that fail in a row the first is told, and again after one that did well', async () => {
  const { told } = await passesOf([true, false, false, false, true, false, true]);
  expect(told).toEqual(['Error: pass 2', 'Error: pass 6']);
});

test('a stop makes no further pass, and one that it breaks off is not told', async () => {
  expect(await passesOf([true, false])).toEqual({ told: [], passes: 2 });
});

test('a stop answers when the pass under way is over', async () => {
  let end = (): void => undefined;
  const underWay = new Promise<void>((done) => {
    end = done;
  });
  const loop = startLoop(() => underWay, { pauseMs: HOUR_MS, failed: () => undefined });
  const stopped = loop.stop();
  expect(await Promise.race([stopped, turn().then(() => 'under way')])).toBe('under way');
  end();
  expect(await stopped).toBeUndefined();
});

test('a stop ends a pause early', async () => {
  const loop = startLoop(() => Promise.resolve(), { pauseMs: HOUR_MS, failed: () => undefined });
  await turn();
  expect(await loop.stop()).toBeUndefined();
});

/** A store that is connected and answers nothing. */
import { openStore } from '../../../src/store/connect';
import { joinStack, type Harness } from '../../support/harness';
import { startLossyLine } from '../../support/stand-ins/lossy-line';

let harness: Harness;
beforeAll(() => {
  harness = joinStack();
});
afterAll(() => harness.close());

test('is not ready, and that is said within about two seconds', async () => {
  const line = await startLossyLine(harness.address.env['MONGODB_URI'] ?? '');
  const store = openStore(line.uri);
  try {
    await store.ensureIndexes();
    expect(await store.isReady()).toBe(true);
    line.hang();
    const askedAt = performance.now();
    expect(await store.isReady()).toBe(false);
    expect(performance.now() - askedAt).toBeLessThan(3_500);
  } finally {
    await line.stop();
    await store.close();
  }
});

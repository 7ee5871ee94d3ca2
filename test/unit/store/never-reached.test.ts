/** A store that was never reached: operations fail soon, so that a request is answered 503 and not kept waiting. */
import { openStore } from '../../../src/store/connect';
import { readTenant } from '../../../src/store/tenants';

const BETWEEN = { least: 1_500, most: 4_000 };

test('an operation before the first connection fails after two seconds', async () => {
  const store = openStore('mongodb://127.0.0.1:1/nowhere');
  try {
    const began = Date.now();
    await expect(readTenant(store, 'ten_a')).rejects.toThrow(/timed out/);
    expect(Date.now() - began).toBeGreaterThan(BETWEEN.least);
    expect(Date.now() - began).toBeLessThan(BETWEEN.most);
  } finally {
    await store.close();
  }
});

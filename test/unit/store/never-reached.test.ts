/** A store that was never reached: operations fail soon, so that a request is answered 503 and not kept waiting. */
import { whatWaits } from '../../../src/store/backlogs';
import { openStore } from '../../../src/store/connect';
// Declares a collection with indexes.
import '../../../src/store/keys';
import { isStoreDown } from '../../../src/store/outages';
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

test('what the relay asks before the first connection fails as the store being away', async () => {
  const store = openStore('mongodb://127.0.0.1:1/nowhere');
  try {
    const failure: unknown = await whatWaits(store, []).catch((error: unknown) => error);
    expect([isStoreDown(failure), String(failure)]).toEqual([true, expect.stringContaining('timed out')]);
  } finally {
    await store.close();
  }
});

test('what the driver says of a store it cannot reach is told, with the name of the setting', async () => {
  const heard: string[] = [];
  const store = openStore('mongodb://127.0.0.1:1/nowhere', (message) => heard.push(message));
  try {
    await expect(store.ensureIndexes()).rejects.toThrow(/MONGODB_URI.*ECONNREFUSED 127.0.0.1:1/);
    expect(heard).toEqual([expect.stringContaining('ECONNREFUSED')]);
  } finally {
    await store.close();
  }
});

test.each([
  'notauri',
  'http://host/signalbox',
  'mongodb://',
  'mongodb://user:pa/ss@host/db',
  'mongodb://host/db?nope=1',
  'mongodb://host',
  'mongodb://user:password@host:27017/?replicaSet=rs0',
  'mongodb://host/a b',
  'mongodb://host/a.b',
  'mongodb://host/%zz',
  'mongodb://host/db?w=0',
  'mongodb://host/db?w=1',
  'mongodb://host/db?readPreference=secondaryPreferred',
])('an address that can never be used is refused at once: %s', (uri) => {
  expect(() => openStore(uri)).toThrow(/^MONGODB_URI must be an address such as mongodb:/);
});

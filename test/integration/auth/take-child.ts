/** One of several processes that charge the same tenant at once; prints how many of its requests were admitted. */
import { openStore } from '../../../src/store/connect';
import { takeFromGuard, type Charge } from '../../../src/store/guards';

async function main(): Promise<void> {
  const [uri = '', takes = '0', charge = '{}'] = process.argv.slice(2);
  const store = openStore(uri);
  const readings = await Promise.all(
    Array.from({ length: Number(takes) }, () => takeFromGuard(store, JSON.parse(charge) as Charge)),
  );
  process.stdout.write(JSON.stringify(readings.filter(({ outcome }) => outcome === 'charged').length));
  await store.close();
}

void main();

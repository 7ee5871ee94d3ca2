/** `npm run dev`: the whole product on this machine, until Ctrl-C. */
import { join, resolve } from 'node:path';
import { runDev } from './dev/run-dev';

const root = resolve(__dirname, '..');

void runDev({
  root,
  scripts: {
    api: join(root, 'src/main.ts'),
    worker: join(root, 'worker/main.ts'),
    seed: join(root, 'scripts/seed.ts'),
  },
});

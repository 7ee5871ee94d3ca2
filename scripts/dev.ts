/** `npm run dev`: the whole product on this machine, until Ctrl-C. */
import { join, resolve } from 'node:path';

const root = resolve(__dirname, '..');

async function main(): Promise<void> {
  console.log('Signalbox, development mode');
  // Loaded after the first line, because loading alone can take a second or two.
  const { runDev } = await import('./dev/run-dev.js');
  await runDev({
    root,
    scripts: {
      api: join(root, 'src/main.ts'),
      worker: join(root, 'worker/main.ts'),
      seed: join(root, 'scripts/seed.ts'),
    },
  });
}

void main();

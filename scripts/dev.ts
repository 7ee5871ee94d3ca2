/** `npm run dev`: the whole product on this machine, until Ctrl-C. */
import { resolve } from 'node:path';
import { compiledIn } from './compile';

const root = resolve(__dirname, '..');

async function main(): Promise<void> {
  console.log('Signalbox, development mode');
  // Loaded after the first line, because loading alone can take a second or two.
  const [{ runDev }, { buildFolder, makeBuild }] = await Promise.all([
    import('./dev/run-dev.js'),
    import('./build.js'),
  ]);
  const folder = buildFolder(root);
  await runDev({
    root,
    build: () => makeBuild(folder),
    scripts: {
      api: compiledIn(folder, 'src/main.ts'),
      worker: compiledIn(folder, 'worker/main.ts'),
      seed: compiledIn(folder, 'scripts/seed.ts'),
    },
  });
}

void main();

/** Builds the workflow bundle; fails on an import a workflow may not have. Run it alone to build at image time. */
import { bundleWorkflowCode } from '@temporalio/worker';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { addFiles } from './source-files';

const ROOT = resolve(__dirname, '..');
const SOURCES = ['workflows', 'src/domain', 'src/contracts'];
/** Without state of their own, so all workflows of a worker share one copy instead of evaluating one each. */
const PURE = ['src/domain/conditions', 'src/domain/paths', 'src/contracts/messages'];

/** Changes whenever a source file of the workflows does, or the way they are bundled. */
function sourceHash(): string {
  const hash = createHash('sha256')
    .update(readFileSync(__filename))
    .update(readFileSync(require.resolve('@temporalio/worker/package.json')));
  addFiles(hash, ROOT, SOURCES);
  return hash.digest('hex').slice(0, 16);
}

const MAP_MARK = '//# sourceMappingURL=data:application/json;charset=utf-8;base64,';

/** Stack traces need where each line came from and not the lines themselves, which every worker would parse as it starts. */
function withoutSources(code: string): string {
  const at = code.lastIndexOf(MAP_MARK);
  if (at === -1) throw new Error('the bundle of the workflows ends without a source map');
  const start = at + MAP_MARK.length;
  const map = JSON.parse(Buffer.from(code.slice(start), 'base64').toString('utf8')) as Record<string, unknown>;
  const { sourcesContent: _sources, ...kept } = map;
  return code.slice(0, start) + Buffer.from(JSON.stringify(kept)).toString('base64');
}

/** Bundles the workflows below `root` and answers the code. */
export async function buildBundle(root: string = ROOT): Promise<string> {
  const quiet = {
    log: () => undefined,
    trace: () => undefined,
    debug: () => undefined,
    info: () => undefined,
    warn: () => undefined,
    error: () => undefined,
  };
  const preloadModules = PURE.map((path) => join(root, path));
  const { code } = await bundleWorkflowCode({ workflowsPath: join(root, 'workflows'), preloadModules, logger: quiet });
  return withoutSources(code);
}

const BUNDLE = /^workflows-[0-9a-f]{16}\.js/;
const KEPT_MS = 7 * 24 * 3_600_000;

/** Removes bundles of a week ago and before: each change of a workflow leaves one. Workers read theirs as they start. */
export function removeOldBundles(folder: string, now: number = Date.now()): void {
  for (const name of readdirSync(folder).filter((file) => BUNDLE.test(file))) {
    const path = join(folder, name);
    // Another process may have removed it meanwhile.
    const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: now };
    if (now - mtimeMs > KEPT_MS) rmSync(path, { force: true });
  }
}

/** A power cut may leave half a bundle, or an empty one, under its name: a whole one ends with its source map's last brace. */
function isWhole(path: string): boolean {
  if (!existsSync(path)) return false;
  const code = readFileSync(path, 'utf8');
  return code.includes(MAP_MARK) && Buffer.from(code.slice(-4), 'base64').toString('latin1').endsWith('}');
}

/** The path of a current bundle in `folder`; builds it when the sources changed. */
export async function cachedBundle(folder: string): Promise<string> {
  const path = join(folder, `workflows-${sourceHash()}.js`);
  if (isWhole(path)) return path;
  const code = await buildBundle();
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.${process.pid}`, code);
  renameSync(`${path}.${process.pid}`, path);
  removeOldBundles(folder);
  return path;
}

if (require.main === module) {
  const target = resolve(process.argv[2] ?? join(ROOT, 'workflow-bundle.js'));
  void buildBundle().then((code) => writeFileSync(target, code));
}

/** Recorded histories must replay with today's workflow code: executions wait at gates for days while code changes. */
import { historyFromJSON } from '@temporalio/common/lib/proto-utils';
import { Worker } from '@temporalio/worker';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { buildBundle } from '../../../worker/bundle';
import { installRuntime } from '../../../worker/run';
import { createLog } from '../../../src/log';
import { SCENARIOS } from '../../support/scenarios';

const ROOT = resolve(__dirname, '../../..');
const FOLDER = join(ROOT, 'test/workflow/histories');
const namesIn = (folder: string): string[] =>
  readdirSync(join(FOLDER, folder))
    .filter((file) => file.endsWith('.json'))
    .map((file) => join(folder, file.replace(/\.json$/, '')));
const NAMES = namesIn('.');
/** Of code before a change that begins with `patched`: such executions may still be waiting somewhere. */
const EARLIER = namesIn('earlier');
const historyOf = (name: string) => historyFromJSON(JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8')));

async function replay(code: string, name: string): Promise<Error | undefined> {
  try {
    await Worker.runReplayHistory({ workflowBundle: { code } }, historyOf(name));
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

/** Bundles a copy of the workflows with one edit. */
async function bundleWith(edit: { file: string; from: string; to: string }): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-reorder-'));
  for (const part of ['workflows', 'src/domain', 'src/contracts'])
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const path = join(folder, edit.file);
  const source = readFileSync(path, 'utf8');
  if (!source.includes(edit.from)) throw new Error(`${edit.file} no longer holds the text that the test edits`);
  writeFileSync(path, source.replace(edit.from, edit.to));
  const bundle = await buildBundle(folder);
  rmSync(folder, { recursive: true });
  return bundle;
}

let code: string;
beforeAll(async () => {
  installRuntime(createLog('silent'), () => Promise.resolve(true));
  code = await buildBundle();
}, 60_000);

test('there is a history of every scenario', () => {
  expect([...NAMES].sort()).toEqual(SCENARIOS.map((scenario) => scenario.name).sort());
});

test.each([...NAMES, ...EARLIER])('%s replays', async (name) => {
  expect(await replay(code, name)).toBeUndefined();
});

test('the bundle says where its lines come from, and leaves the lines themselves out', () => {
  const map = JSON.parse(Buffer.from(code.split('base64,').at(-1) ?? '', 'base64').toString()) as Record<
    string,
    unknown
  >;
  expect(map['sources']).toContainEqual(expect.stringContaining('workflows/agent-execution.ts'));
  expect(map).not.toHaveProperty('sourcesContent');
});

test('a deliberate reorder of the workflow makes the histories fail', async () => {
  const reordered = await bundleWith({
    file: 'workflows/agent-execution.ts',
    from: 'await runSteps(run, input.steps, {',
    to: 'await runSteps(run, input.steps.toReversed(), {',
  });
  const errors = await Promise.all(NAMES.map((name) => replay(reordered, name)));
  expect(errors.filter((error) => error === undefined)).toEqual([]);
}, 60_000);

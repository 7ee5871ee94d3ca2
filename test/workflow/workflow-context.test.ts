/** Where workflows run: no call stacks are kept, a bug of one is its own, and one that never yields ends its worker, not others. */
import { WorkflowFailedError } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntilDead } from '../../scripts/services/processes';
import { readConfig } from '../../src/config';
import { newId } from '../../src/domain/ids';
import { connectEngine, type Engine } from '../../src/engine/connect';
import { compiled } from '../support/global-build';
import { joinStack, waitFor } from '../support/harness';
import { startWorker } from '../support/stack';

let folder: string;
let engine: Engine;
let worker: Awaited<ReturnType<typeof startWorker>>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'signalbox-context-'));
  const bundle = join(folder, 'bundle.js');
  const workflowsPath = require.resolve('../support/context-workflows');
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') });
  writeFileSync(bundle, code);
  const shared = joinStack();
  worker = await startWorker(shared.address, 'context', { WORKFLOW_BUNDLE: bundle });
  await shared.close();
  engine = connectEngine(readConfig(worker.env).temporal);
}, 120_000);
afterAll(async () => {
  await engine.close();
  await worker.process.stop();
  rmSync(folder, { recursive: true });
});

test('nothing is written down for each promise, and the stack of an error names the source', async () => {
  const { workflow } = engine.client;
  const { taskQueue } = engine;
  const waiting = await workflow.start('waiting', { workflowId: newId('exec'), taskQueue });
  await expect(waiting.query('__stack_trace')).rejects.toThrow('stack traces are not enabled');
  await waiting.terminate();
  const failing = await workflow.start('failing', { workflowId: newId('exec'), taskQueue });
  const error: unknown = await failing.result().catch((failed: unknown) => failed);
  expect(error).toBeInstanceOf(WorkflowFailedError);
  const [head, ...frames] = (error as WorkflowFailedError).cause?.stack?.split('\n') ?? [];
  expect(head).toBe('ApplicationFailure: on purpose');
  expect(frames.join('\n')).toMatch(/at failing \(\S*context-workflows\.ts:19:28\)/);
  // Those of the library's own that lead there are cut off, which needs their sources' names, too.
  expect(frames.join('\n')).not.toMatch(/node:vm|NextHandler/);
});

test('a promise of a workflow that fails unseen fails its task and nothing else', async () => {
  const { workflow } = engine.client;
  const { taskQueue } = engine;
  const { pid } = worker.process;
  const careless = await workflow.start('careless', { workflowId: newId('exec'), taskQueue });
  const said = await waitFor(async () => worker.process.lines().find((line) => line.includes('nobody looks')), {
    timeoutMs: 10_000,
    what: 'the task to fail',
  });
  expect(JSON.parse(said)).toMatchObject({ level: 'warn', why: expect.stringContaining('nobody looks') as string });
  const quick = await workflow.start('quick', { workflowId: newId('exec'), taskQueue });
  expect(await quick.result()).toBe('done');
  await careless.terminate();
  expect(worker.process.pid).toBe(pid);
});

test('of one that never yields the worker tells the id and ends; with it terminated, the next one goes on with the others', async () => {
  const { workflow } = engine.client;
  const { taskQueue } = engine;
  const [endless, quick] = [newId('exec'), newId('exec')];
  const { pid } = worker.process;
  await workflow.start('endless', { workflowId: endless, taskQueue });
  const said = await waitFor(
    async () => worker.process.lines().find((line) => line.includes('a workflow does not yield')),
    { timeoutMs: 30_000, what: 'the worker to notice' },
  );
  expect(JSON.parse(said)).toMatchObject({ level: 'error', workflow_id: endless });
  expect(await waitUntilDead([pid], 5_000)).toBe(true);
  const handle = await workflow.start('quick', { workflowId: quick, taskQueue });
  await workflow.getHandle(endless).terminate();
  await worker.process.start();
  expect(await handle.result()).toBe('done');
}, 90_000);

const WATCH = JSON.stringify(compiled('worker/watch.ts'));
/** Stands still for a while after it has started the watch and done `first`; in time for its end it says so. */
const standingStill = (first: string): string =>
  `const { startWatch } = require(${WATCH}); const watch = startWatch('info'); ${first};
  setTimeout(() => { for (const end = Date.now() + 13_000; Date.now() < end;); console.log('went on'); process.exit(0); }, 1_500);`;

/** What such a process said as it stood still, and how it ended. */
const standstill = (first: string): Promise<{ output: string; signal: string | null }> =>
  new Promise((resolve) => {
    const child = execFile(process.execPath, ['-e', standingStill(first)], (_error, output) =>
      resolve({ output, signal: child.signalCode }),
    );
  });

test('whatever else holds up a worker ends it as well, unless a debugger came, which may', async () => {
  const opened = "require('node:inspector').open(0, '127.0.0.1')";
  const [held, debugged] = await Promise.all([standstill(''), standstill(opened)]);
  expect(held.signal).toBe('SIGKILL');
  expect(JSON.parse(held.output)).toMatchObject({
    level: 'error',
    msg: expect.stringContaining('ten seconds') as string,
  });
  expect(debugged).toEqual({ output: 'went on\n', signal: null });
}, 60_000);

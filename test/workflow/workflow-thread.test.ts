/** The thread of the workflows: it keeps no call stacks, and one workflow that never yields ends its worker, not others. */
import { WorkflowFailedError } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../src/config';
import { newId } from '../../src/domain/ids';
import { connectEngine, type Engine } from '../../src/engine/connect';
import { joinStack, waitFor } from '../support/harness';
import { startWorker } from '../support/stack';

let folder: string;
let engine: Engine;
let worker: Awaited<ReturnType<typeof startWorker>>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'signalbox-thread-'));
  const bundle = join(folder, 'bundle.js');
  const workflowsPath = require.resolve('../support/thread-workflows');
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') });
  writeFileSync(bundle, code);
  const shared = joinStack();
  worker = await startWorker(shared.address, 'thread', { WORKFLOW_BUNDLE: bundle });
  await shared.close();
  engine = connectEngine(readConfig(worker.env).temporal);
}, 120_000);
afterAll(async () => {
  await engine.close();
  await worker.process.stop();
  rmSync(folder, { recursive: true });
});

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test('nothing is written down for each promise, and the stack of an error names the source', async () => {
  const { workflow } = engine.client;
  const { taskQueue } = engine;
  const waiting = await workflow.start('waiting', { workflowId: newId('exec'), taskQueue });
  await expect(waiting.query('__stack_trace')).rejects.toThrow('stack traces are not enabled');
  await waiting.terminate();
  const failing = await workflow.start('failing', { workflowId: newId('exec'), taskQueue });
  const error: unknown = await failing.result().catch((failed: unknown) => failed);
  expect(error).toBeInstanceOf(WorkflowFailedError);
  expect((error as WorkflowFailedError).cause?.stack).toMatch(/thread-workflows\.ts:\d+:\d+/);
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
  await waitFor(async () => !isAlive(pid), { timeoutMs: 5_000, what: 'the worker to end' });
  const handle = await workflow.start('quick', { workflowId: quick, taskQueue });
  await workflow.getHandle(endless).terminate();
  await worker.process.start();
  expect(await handle.result()).toBe('done');
}, 90_000);

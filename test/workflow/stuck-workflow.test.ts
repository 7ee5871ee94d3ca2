/** A workflow that never yields: its worker says which one it is and ends, and the next worker serves all others. */
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
  folder = mkdtempSync(join(tmpdir(), 'signalbox-stuck-'));
  const bundle = join(folder, 'bundle.js');
  const workflowsPath = require.resolve('../support/endless-workflows');
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') });
  writeFileSync(bundle, code);
  const shared = joinStack();
  worker = await startWorker(shared.address, 'stuck', { WORKFLOW_BUNDLE: bundle });
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

test('the worker names it and ends; with it terminated, the next one goes on with the others', async () => {
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

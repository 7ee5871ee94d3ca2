/** Attempts at a step that only waited for our own records: they are made again, and use up none that the step has. */
import { readConfig } from '../../src/config';
import { workflowIdOf } from '../../src/contracts/messages';
import { connectEngine, type Engine } from '../../src/engine/connect';
import { openExecution } from '../../src/store/executions';
import { startedAhead } from '../support/ahead-of-record';
import { activeAgent, definitionWith, run, stepOf } from '../support/agents';
import { joinStack, waitFor, waitForExecution, type Body, type Harness } from '../support/harness';
import { startApi, startWorker } from '../support/stack';
import { startHttpServer, type HttpStandIn } from '../support/stand-ins/http-server';
import { commandOn, startLossyLine, type LossyLine } from '../support/stand-ins/lossy-line';
import { temporalCommand } from '../support/temporal-cli';

const QUEUE = 'uncounted';

let stub: HttpStandIn;
/** Between the worker and its store. */
let line: LossyLine;
let api: Awaited<ReturnType<typeof startApi>>;
let worker: Awaited<ReturnType<typeof startWorker>>;
let harness: Harness;
let engine: Engine;

const callsTo = (path: string): number => stub.requests.filter((request) => request.path === path).length;

beforeAll(async () => {
  const shared = joinStack();
  await shared.close();
  const uri = (shared.address.env['MONGODB_URI'] ?? '').replace(/\/signalbox\b/, `/signalbox_${QUEUE}`);
  stub = await startHttpServer(({ path }) => ({ status: callsTo(path) === 1 || path === '/broken' ? 503 : 200 }));
  line = await startLossyLine(uri);
  api = await startApi(shared.address, { MONGODB_URI: uri, TEMPORAL_TASK_QUEUE: QUEUE });
  worker = await startWorker(api, QUEUE, { MONGODB_URI: line.uri });
  harness = joinStack(api);
  engine = connectEngine(readConfig(api.env).temporal);
}, 120_000);

afterAll(async () => {
  await Promise.all([harness.close(), engine.close()]);
  await Promise.all([api.api.stop(), worker.process.stop()]);
  await Promise.all([stub.stop(), line.stop()]);
});

const call = (path: string, pause = '1s') => ({
  type: 'http_request' as const,
  id: 'effect',
  method: 'POST' as const,
  url: `${stub.url}${path}`,
  retry: { max_attempts: 2, initial: pause, max: pause },
});

const effectOf = (execution: Body): Body => stepOf(execution, 'effect');

test('one whose own store broke off', async () => {
  const org = await harness.newOrg();
  await activeAgent(org, definitionWith([call('/store')]));
  const before = line.lost();
  line.refuse(commandOn('executions', 'findAndModify'));
  const done = await waitForExecution(org, await run(org), ['completed', 'failed'], 40_000);
  expect(line.lost() - before).toBe(1);
  expect(effectOf(done)).toMatchObject({ status: 'completed', attempts: 2, error: null });
  expect(callsTo('/store')).toBe(2);
});

/** Runs the step alone, and writes the record of its execution when some attempts have not found it. */
async function aheadOfRecord(step: ReturnType<typeof call>) {
  const { org, record } = await startedAhead({ harness, engine }, [step]);
  const workflow = engine.client.workflow.getHandle(workflowIdOf(record._id));
  const nextAttempt = async () => (await workflow.describe()).raw.pendingActivities?.[0]?.attempt ?? 0;
  await waitFor(async () => (await nextAttempt()) > 3, { what: 'attempts that find no record' });
  expect(callsTo(new URL(step.url).pathname)).toBe(0);
  await openExecution(harness.store, record);
  const ended = () => waitForExecution(org, record._id, ['completed', 'failed'], 40_000);
  return { id: record._id, nextAttempt, ended };
}

test('one that came before its record', async () => {
  const { ended } = await aheadOfRecord(call('/record'));
  expect(effectOf(await ended())).toMatchObject({ status: 'completed', attempts: 2, error: null });
});

test('they are forgotten when an operator resets the step, which has all its attempts again and no more', async () => {
  const { id, nextAttempt, ended } = await aheadOfRecord(call('/broken', '1h'));
  const operate = (command: string) =>
    temporalCommand(harness, 'activity', command, '--workflow-id', workflowIdOf(id), '--activity-id', '1');
  const waitsForAttempt = (isIt: (attempt: number) => boolean, calls: number) =>
    waitFor(async () => callsTo('/broken') === calls && isIt(await nextAttempt()), { what: `call ${calls} to fail` });
  await waitsForAttempt((attempt) => attempt > 4, 1);
  await operate('reset');
  await waitsForAttempt((attempt) => attempt === 2, 2);
  await operate('pause');
  await operate('unpause');
  expect(effectOf(await ended())).toMatchObject({ status: 'failed', attempts: 2 });
  expect(callsTo('/broken')).toBe(3);
});

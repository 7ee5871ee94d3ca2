/** Attempts at a step that only waited for our own records: they are made again, and use up none that the step has. */
import { readConfig } from '../../src/config';
import { workflowIdOf } from '../../src/contracts/messages';
import { workflowInput } from '../../src/domain/execution';
import { connectEngine, type Engine } from '../../src/engine/connect';
import { startExecution } from '../../src/engine/executions';
import { openExecution } from '../../src/store/executions';
import { activeAgent, definitionWith, run } from '../support/agents';
import { joinStack, list, text, waitFor, waitForExecution, type Body, type Harness } from '../support/harness';
import { storedAgent, unopenedRecord } from '../support/records';
import { startApi, startWorker } from '../support/stack';
import { startHttpServer, type HttpStandIn } from '../support/stand-ins/http-server';
import { commandOn, startLossyLine, type LossyLine } from '../support/stand-ins/lossy-line';

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
  stub = await startHttpServer(({ path }) => ({ status: callsTo(path) === 1 ? 503 : 200 }));
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

const call = (path: string) => ({
  type: 'http_request' as const,
  id: 'effect',
  method: 'POST' as const,
  url: `${stub.url}${path}`,
  retry: { max_attempts: 2, initial: '1s', max: '1s' },
});

const effectOf = (execution: Body): Body =>
  list(execution['steps']).find((step) => text(step['step_id']) === 'effect') ?? {};

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

test('one that came before its record', async () => {
  const org = await harness.newOrg();
  const agentId = await storedAgent(harness.store, org.id, [call('/record')]);
  const record = await unopenedRecord(harness.store, { orgId: org.id, agentId, now: new Date(), payload: {} });
  const input = workflowInput(record, { id: org.id, tier: 'standard', name: 'Test org' });
  await startExecution(engine, input, api.baseUrl);
  const isAwaited = async () => {
    const { raw } = await engine.client.workflow.getHandle(workflowIdOf(record._id)).describe();
    return (raw.pendingActivities?.[0]?.attempt ?? 0) > 3;
  };
  await waitFor(isAwaited, { what: 'attempts that find no record' });
  expect(callsTo('/record')).toBe(0);
  await openExecution(harness.store, record);
  const done = await waitForExecution(org, record._id, ['completed', 'failed'], 40_000);
  expect(effectOf(done)).toMatchObject({ status: 'completed', attempts: 2, error: null });
});

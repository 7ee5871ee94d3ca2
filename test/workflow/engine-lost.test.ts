/** An engine that lost workflows, or remembers less of them than their records say: nothing that is recorded is done again. */
import type { WorkflowHandle } from '@temporalio/client';
import { readConfig } from '../../src/config';
import { APPROVAL_DECISION, workflowIdOf } from '../../src/contracts/messages';
import { connectEngine, type Engine } from '../../src/engine/connect';
import { workflowStatus } from '../../src/engine/executions';
import { approvals } from '../../src/store/approvals';
import { executions } from '../../src/store/executions';
import { activeAgent, definitionWith, fire, GATE, openGateOf, run, VARIABLES } from '../support/agents';
import { sweep } from '../support/engine';
import {
  joinStack,
  list,
  text,
  waitFor,
  waitForExecution,
  type Body,
  type Harness,
  type TestOrg,
} from '../support/harness';
import { startHttpServer, type HttpStandIn } from '../support/stand-ins/http-server';
import { workflowCommand } from '../support/temporal-cli';

let harness: Harness;
let engine: Engine;
let stub: HttpStandIn;
let org: TestOrg;
let isAway = false;

beforeAll(async () => {
  harness = joinStack();
  engine = connectEngine(readConfig(harness.address.env).temporal);
  stub = await startHttpServer(({ path }) => {
    if (path.startsWith('/away')) return { status: isAway ? 503 : 200 };
    return path.startsWith('/broken') ? { status: 400 } : {};
  });
});
beforeEach(async () => {
  org = await harness.newOrg();
});
afterAll(async () => {
  await stub.stop();
  await engine.close();
  await harness.close();
});

type Fields = Record<string, unknown>;
type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;
type HistoryEvent = NonNullable<History['events']>[number];

const call = (id: string, more: Fields = {}): Fields => ({
  type: 'http_request',
  id,
  method: 'POST',
  url: `${stub.url}/${id}/{{execution.id}}`,
  ...more,
});
const delay = (length: string): Fields => ({ type: 'delay', id: 'wait', for: length });
const callsOf = (executionId: string): string[] =>
  stub.requests.map(({ path }) => path.split('/')).flatMap(([, id = '', of]) => (of === executionId ? [id] : []));

const begin = async (...steps: Fields[]): Promise<string> => {
  await activeAgent(org, definitionWith(steps));
  return run(org);
};
const read = async (id: string): Promise<Body> => (await org.call('GET', `/agents/api/executions/${id}`)).body;
const stepsOf = (execution: Body): Body[] => list(execution['steps']);
const shown = (execution: Body): string[] =>
  stepsOf(execution).map((step) => `${text(step['step_id'])} ${text(step['status'])}`);
const whenAt = (id: string, step: string): Promise<Body> =>
  waitFor(async () => {
    const execution = await read(id);
    return shown(execution).includes(step) ? execution : null;
  });
const decide = async (approval: Body): Promise<void> => {
  const path = `/agents/api/approvals/${text(approval['id'])}/decision`;
  const answer = await org.call('POST', path, { decision: 'approved' });
  expect(answer.status).toBe(200);
};

/** The engine forgets the workflow, as one does that lost its data. */
async function lose(executionId: string): Promise<void> {
  const { workflowService } = engine.client;
  const { namespace } = engine.client.options;
  await workflowService.deleteWorkflowExecution({
    namespace,
    workflowExecution: { workflowId: workflowIdOf(executionId) },
  });
  await waitFor(async () => ((await workflowStatus(engine, executionId)) === null ? true : null));
}

const eventsOf = async (executionId: string): Promise<HistoryEvent[]> =>
  (await engine.client.workflow.getHandle(workflowIdOf(executionId)).fetchHistory()).events ?? [];
const isSignal = (event: HistoryEvent): boolean => Boolean(event.workflowExecutionSignaledEventAttributes);
const isTaskDone = (event: HistoryEvent): boolean => Boolean(event.workflowTaskCompletedEventAttributes);

/** Has the workflow look up once while it waits, so that its history can be cut off there. */
async function visit(executionId: string): Promise<void> {
  await engine.client.workflow.getHandle(workflowIdOf(executionId)).signal(APPROVAL_DECISION, 'nothing');
  await waitFor(async () => {
    const events = await eventsOf(executionId);
    return events.slice(events.findIndex(isSignal)).some(isTaskDone) ? true : null;
  });
}

/** The engine is back at an open gate, as one that was restored from a copy made before the decision. */
async function forgetDecision(executionId: string): Promise<void> {
  const events = await eventsOf(executionId);
  const before = events.slice(0, events.findLastIndex(isSignal)).findLast(isTaskDone);
  const options = ['--event-id', String(before?.eventId), '--reapply-exclude', 'All', '--reason', 'test'];
  await workflowCommand(harness, executionId, 'reset', ...options);
}

/** The repair of what has been quiet for minutes, now. */
async function repair(executionId: string): Promise<void> {
  const touched = { touched_at: new Date(Date.now() - 5 * 60_000) };
  await executions.in(harness.store).updateOne({ _id: executionId }, { $set: touched });
  await sweep(engine);
  await waitFor(async () => ((await workflowStatus(engine, executionId)) === null ? null : true));
}

/** A record as a copy of the store holds it. */
const copyOf = (of: typeof executions | typeof approvals, id: string): Promise<unknown> =>
  of.in(harness.store).collection.findOne({ _id: id } as never);

const timesOf = (execution: Body): unknown[] =>
  stepsOf(execution).map((step) => [step['started_at'], step['completed_at']]);

test('calls behind leading variables are not made again, and the gate stays the one that was asked', async () => {
  const id = await begin(VARIABLES, call('first'), call('second'), GATE, call('last'));
  const approval = await openGateOf(org, id);
  const before = await read(id);
  await lose(id);
  await repair(id);
  const now = await whenAt(id, 'gate waiting_approval');
  expect((await openGateOf(org, id))['id']).toBe(approval['id']);
  await decide(approval);
  const ended = await waitForExecution(org, id, ['completed']);
  expect(callsOf(id)).toEqual(['first', 'second', 'last']);
  expect(timesOf(now)).toEqual(timesOf(before));
  expect(timesOf(ended).slice(0, 3)).toEqual(timesOf(before).slice(0, 3));
});

test('what came behind a decided gate is not done again, and a delay lasts no longer than it was to', async () => {
  const id = await begin(GATE, call('first'), delay('8s'), call('last'));
  await decide(await openGateOf(org, id));
  const before = await whenAt(id, 'wait running');
  await lose(id);
  await repair(id);
  const ended = await waitForExecution(org, id, ['completed']);
  expect(callsOf(id)).toEqual(['first', 'last']);
  const wait = stepsOf(ended)[2];
  expect(wait?.['started_at']).toBe(stepsOf(before)[2]?.['started_at']);
  expect(wait?.['duration_ms']).toBeLessThan(9_500);
});

test('a delay that is over is not waited for again', async () => {
  const id = await begin(VARIABLES, delay('1s'), call('first'), GATE);
  const approval = await openGateOf(org, id);
  const before = await read(id);
  await lose(id);
  await repair(id);
  await decide(approval);
  const ended = await waitForExecution(org, id, ['completed']);
  expect(callsOf(id)).toEqual(['first']);
  expect(timesOf(ended).slice(0, 3)).toEqual(timesOf(before).slice(0, 3));
});

test('a step that failed and was passed over stays failed', async () => {
  const id = await begin(VARIABLES, call('broken', { on_error: 'continue' }), call('first'), GATE);
  const approval = await openGateOf(org, id);
  const before = await read(id);
  await lose(id);
  await repair(id);
  await decide(approval);
  const ended = await waitForExecution(org, id, ['completed']);
  expect(callsOf(id)).toEqual(['broken', 'first']);
  expect(stepsOf(ended)[1]).toEqual(stepsOf(before)[1]);
  expect(timesOf(ended).slice(0, 3)).toEqual(timesOf(before).slice(0, 3));
});

test('a gate that was decided before the copy the engine was restored from is not waited at until it expires', async () => {
  const id = await begin(GATE, call('first'), delay('5s'), call('last'));
  const approval = await openGateOf(org, id);
  await visit(id);
  await decide(approval);
  await whenAt(id, 'wait running');
  await forgetDecision(id);
  await repair(id);
  await waitForExecution(org, id, ['completed']);
  expect(callsOf(id)).toEqual(['first', 'last']);
});

test('a recipient who was told is not told again with those who were not reached yet', async () => {
  const told = (id: string): string => `${stub.url}/${id}/{{execution.id}}`;
  const retry = { max_attempts: 20, initial: '1s', max: '1s' };
  const recipients = [told('here'), told('away')];
  isAway = true;
  const id = await begin({ type: 'notification', id: 'tell', channel: 'webhook', recipients, body: 'Hello', retry });
  await waitFor(() => Promise.resolve(callsOf(id).filter((of) => of === 'away').length > 1 || null));
  await lose(id);
  isAway = false;
  await repair(id);
  const ended = await waitForExecution(org, id, ['completed']);
  expect(callsOf(id).filter((of) => of === 'here')).toHaveLength(1);
  expect(list(stepsOf(ended)[0]?.['output']?.['deliveries'])).toHaveLength(2);
});

const AGAIN = { ...GATE, id: 'again' };

test('the first of two gates is not waited at until it expires when both were reached since the copy', async () => {
  const id = await begin(GATE, call('first'), AGAIN, call('last'));
  const approval = await openGateOf(org, id);
  await visit(id);
  await decide(approval);
  await whenAt(id, 'again waiting_approval');
  await forgetDecision(id);
  await repair(id);
  await decide(await openGateOf(org, id));
  await waitForExecution(org, id, ['completed']);
  expect(callsOf(id)).toEqual(['first', 'last']);
});

/** What a copy of the store holds of an execution at its gate; answers how the store gets it back. */
async function copied(id: string, approvalId: string): Promise<() => Promise<void>> {
  const [execution, approval] = [await copyOf(executions, id), await copyOf(approvals, approvalId)];
  return async () => {
    await approvals.in(harness.store).deleteMany({ execution_id: id });
    await approvals.in(harness.store).collection.insertOne(approval as never);
    await executions.in(harness.store).collection.replaceOne({ _id: id } as never, execution as never);
  };
}

test('a workflow at a gate of which a store that was restored from an older copy knows nothing begins anew', async () => {
  const id = await begin(GATE, call('first'), AGAIN, call('last'));
  const approval = await openGateOf(org, id);
  const restore = await copied(id, text(approval['id']));
  await decide(approval);
  await whenAt(id, 'again waiting_approval');
  await restore();
  await repair(id);
  await decide(await openGateOf(org, id));
  await whenAt(id, 'again waiting_approval');
  await decide(await openGateOf(org, id));
  await waitForExecution(org, id, ['completed']);
  expect(callsOf(id)).toEqual(['first', 'first', 'last']);
});

const hasCompleted = (id: string) =>
  waitFor(async () => (await workflowStatus(engine, id)) === 'COMPLETED', { what: `the end of the workflow of ${id}` });

test('an execution that is open in a store restored from an older copy goes on, although its workflow has completed', async () => {
  const id = await begin(GATE, call('first'));
  const approval = await openGateOf(org, id);
  const restore = await copied(id, text(approval['id']));
  await decide(approval);
  await waitForExecution(org, id, ['completed']);
  await hasCompleted(id);
  await restore();
  await repair(id);
  await decide(await openGateOf(org, id));
  await waitForExecution(org, id, ['completed']);
  expect(callsOf(id)).toEqual(['first', 'first']);
});

test('an event that its sender repeats runs again when the store was restored from a copy without it', async () => {
  await activeAgent(org, definitionWith([call('first')]));
  const [id = ''] = await fire(org, {}, { id: 'repeated' });
  await waitForExecution(org, id, ['completed']);
  await hasCompleted(id);
  await executions.in(harness.store).deleteMany({ org_id: org.id });
  await harness.store.connection.collection('events').deleteMany({ org_id: org.id });
  expect(await fire(org, {}, { id: 'repeated' })).toEqual([id]);
  await waitForExecution(org, id, ['completed', 'failed']);
  expect(await read(id)).toMatchObject({ status: 'completed', steps: [{ status: 'completed' }] });
  expect(callsOf(id)).toEqual(['first', 'first']);
});

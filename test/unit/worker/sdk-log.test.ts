/** What operators read of failures that the engine's library tells of. */
import { ActivityFailure, ApplicationFailure } from '@temporalio/common';
import { runInNewContext } from 'node:vm';
import { createLog } from '../../../src/log';
import { lineOf, sdkLines } from '../../../worker/sdk-log';

/** The same error as a workflow throws it, whose context has classes of its own. */
function fromWorkflow(error: Error): Error {
  const { name, message, cause } = error;
  const own: object = Object.assign({}, error, cause instanceof Error && { cause: fromWorkflow(cause) });
  const made = runInNewContext('({ name, message, own }) => Object.assign(new Error(message), { name }, own)') as (
    parts: object,
  ) => Error;
  return made({ name, message, own });
}

const denied = () => ApplicationFailure.create({ type: 'approval_denied', message: 'Step gate was denied.' });
const broken = () =>
  ApplicationFailure.create({
    type: 'step_failed',
    message: 'The step failed for a reason within Signalbox (TypeError)',
    cause: new TypeError('x is undefined'),
  });
const failedStep = () =>
  new ActivityFailure('Activity task failed', 'httpRequest', '1', 'MAXIMUM_ATTEMPTS_REACHED', 'w', denied());

test('that a gate was denied is a line without a stack that calls nobody', () => {
  const { level, fields } = lineOf('WARN', { error: fromWorkflow(denied()), workflowId: 'exe_1' });
  expect({ level, fields }).toEqual({
    level: 'info',
    fields: { sdk: true, code: 'approval_denied', why: 'Step gate was denied.', workflow_id: 'exe_1' },
  });
});

test('an attempt that failed tells its code, and an execution that a step has failed why', () => {
  expect(lineOf('WARN', { error: denied(), activityType: 'httpRequest' })).toEqual({
    level: 'info',
    fields: { sdk: true, code: 'approval_denied', why: 'Step gate was denied.', activity: 'httpRequest' },
  });
  expect(lineOf('WARN', { error: fromWorkflow(failedStep()) })).toMatchObject({
    level: 'info',
    fields: { sdk: true, why: 'Step gate was denied.' },
  });
});

test('what failed within the product is a warning with everything there is', () => {
  const error = broken();
  expect(lineOf('WARN', { error })).toEqual({ level: 'warn', fields: { sdk: true, error } });
  expect(lineOf('WARN', { error: fromWorkflow(error) })).toMatchObject({
    level: 'warn',
    fields: { error: { message: error.message } },
  });
  const other = new TypeError('y');
  expect(lineOf('ERROR', { error: other })).toEqual({ level: 'error', fields: { sdk: true, error: other } });
  expect(lineOf('WARN', {})).toEqual({ level: 'warn', fields: { sdk: true } });
});

test('a workflow task that fails tells of which run, and why', () => {
  const failure =
    'Failure { failure: Some(Failure { message: "no key \\"new\\" here", source: "TypeScriptSDK", stack_trace: "at x", cause: None }), force_cause: Unspecified }';
  expect(lineOf('WARN', { runId: 'run_1', failure })).toEqual({
    level: 'warn',
    fields: { sdk: true, run_id: 'run_1', why: 'no key "new" here' },
  });
  expect(lineOf('WARN', { runId: 'run_1', failure: 'Failure { failure: None }' }).fields).toEqual({
    sdk: true,
    run_id: 'run_1',
    why: 'Failure { failure: None }',
  });
});

const RETRIED = 'gRPC call poll_workflow_task_queue retried 6 times';

/** What the log has of the library's lines, with an engine that answers or not. */
async function loggedOf(messages: string[], answers: boolean): Promise<string[]> {
  const lines: string[] = [];
  const take = sdkLines(
    createLog('warn', (line) => lines.push((JSON.parse(line) as { msg: string }).msg)),
    () => Promise.resolve(answers),
  );
  for (const message of messages) take({ level: 'WARN', message, meta: { error: 'Status { code: Unavailable }' } });
  await new Promise((resolve) => setImmediate(resolve));
  return lines;
}

test('what every poller says while the engine is away is left to the one line that says so', async () => {
  const lost = 'Network error while completing activity';
  expect(await loggedOf([RETRIED, lost, RETRIED, 'Worker stopped'], false)).toEqual(['Worker stopped']);
  // A quota that is used up, for example, is told by nobody else.
  expect(await loggedOf([RETRIED], true)).toEqual([RETRIED]);
});

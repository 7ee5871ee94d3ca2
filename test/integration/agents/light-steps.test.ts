/** Rows of light steps: recorded together, yet each with its own outcome; and what starts an event while agents change. */
import { activeAgent, definitionWith, fire, GATE, openGateOf, run, stepOf } from '../../support/agents';
import { joinStack, text, waitForExecution, type Harness } from '../../support/harness';
import { put, statusesOf } from './support';

let harness: Harness;
beforeAll(() => {
  harness = joinStack();
});
afterAll(() => harness.close());

const COPY = '{{event_payload}}';
const LARGE = { name: 'x'.repeat(150_000) };
const set = (id: string, value: string, more: object = {}) => ({
  type: 'set_variables',
  id,
  values: { [id]: value },
  ...more,
});
const tooLarge = (more: object = {}) => ({
  type: 'set_variables',
  id: 'large',
  values: { a: COPY, b: COPY, c: COPY, d: COPY },
  ...more,
});

test('each step of a row sees the ones before it', async () => {
  const org = await harness.newOrg();
  const steps = [
    set('one', '{{event_payload.name}}'),
    set('two', '{{steps.one.output.one}}!'),
    set('three', '{{vars.two}}?'),
  ];
  await activeAgent(org, definitionWith(steps));
  const ended = await waitForExecution(org, await run(org), ['completed', 'failed']);
  expect(statusesOf(ended)).toEqual(['one completed', 'two completed', 'three completed']);
  expect(stepOf(ended, 'three')['output']).toEqual({ three: 'Ada!?' });
});

test('a step that fails in the middle of a row fails alone: what came before is kept, what comes after is skipped', async () => {
  const org = await harness.newOrg();
  await activeAgent(org, definitionWith([set('one', 'kept'), tooLarge(), set('three', 'never')]));
  const ended = await waitForExecution(org, await run(org, LARGE), ['completed', 'failed']);
  expect(statusesOf(ended)).toEqual(['one completed', 'large failed', 'three skipped']);
  expect(stepOf(ended, 'one')['output']).toEqual({ one: 'kept' });
  expect(ended).toMatchObject({ status: 'failed', error: { code: 'output_too_large' } });
});

test('a step that may fail lets the rest of its row go on', async () => {
  const org = await harness.newOrg();
  const steps = [set('one', 'kept'), tooLarge({ on_error: 'continue' }), set('three', '{{steps.large.status}}')];
  await activeAgent(org, definitionWith(steps));
  const ended = await waitForExecution(org, await run(org, LARGE), ['completed', 'failed']);
  expect(statusesOf(ended)).toEqual(['one completed', 'large failed', 'three completed']);
  expect(stepOf(ended, 'three')['output']).toEqual({ three: 'failed' });
});

test('a row behind a gate is recorded with its decision and can name it', async () => {
  const org = await harness.newOrg();
  await activeAgent(
    org,
    definitionWith([GATE, set('said', '{{steps.gate.output.decision}}'), set('last', '{{vars.said}}')]),
  );
  const id = await run(org);
  const gate = text((await openGateOf(org, id))['id']);
  expect((await org.call('POST', `/agents/api/approvals/${gate}/decision`, { decision: 'approved' })).status).toBe(200);
  const ended = await waitForExecution(org, id, ['completed', 'failed']);
  expect(statusesOf(ended)).toEqual(['gate completed', 'said completed', 'last completed']);
  expect(stepOf(ended, 'last')['output']).toEqual({ last: 'approved' });
});

test('a row behind a gate that was denied is skipped', async () => {
  const org = await harness.newOrg();
  await activeAgent(org, definitionWith([GATE, set('said', 'never')]));
  const id = await run(org);
  const gate = text((await openGateOf(org, id))['id']);
  await org.call('POST', `/agents/api/approvals/${gate}/decision`, { decision: 'denied' });
  expect(statusesOf(await waitForExecution(org, id, ['cancelled']))).toEqual(['gate completed', 'said skipped']);
});

test('a row inside a branch ends with its branch', async () => {
  const org = await harness.newOrg();
  const when = { field: 'event_payload.name', operator: 'eq', value: 'Ada' };
  const branch = {
    type: 'branch',
    id: 'which',
    branches: [{ name: 'ada', when, steps: [set('one', '1'), set('two', '{{vars.one}}2')] }],
    else: [set('other', 'never')],
  };
  await activeAgent(org, definitionWith([branch, set('after', '{{vars.two}}3')]));
  const ended = await waitForExecution(org, await run(org), ['completed', 'failed']);
  expect(stepOf(ended, 'after')['output']).toEqual({ after: '123' });
  expect(ended['status']).toBe('completed');
});

test('pausing and activating an agent is in force for the very next event', async () => {
  const org = await harness.newOrg();
  const id = await activeAgent(org, definitionWith([set('one', '1')]));
  const started: number[] = [];
  for (let round = 0; round < 10; round += 1) {
    started.push((await fire(org)).length);
    await put(org, `/agents/${id}`, { status: 'paused' });
    started.push((await fire(org)).length);
    await put(org, `/agents/${id}`, { status: 'active' });
  }
  expect(started).toEqual(Array.from({ length: 20 }, (_unused, index) => (index + 1) % 2));
});

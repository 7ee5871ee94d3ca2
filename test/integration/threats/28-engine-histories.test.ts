/** What the engine's histories hold of people's data: with a payload key it is sealed, and executions go as without. */
import { activeAgent, definitionWith, GATE, openGateOf, run, VARIABLES } from '../../support/agents';
import {
  joinStack,
  list,
  request,
  text,
  waitFor,
  waitForExecution,
  type Body,
  type Harness,
  type TestOrg,
} from '../../support/harness';
import { startOwn } from '../../support/stack';
import { startHttpServer, type HttpStandIn } from '../../support/stand-ins/http-server';
import { workflowCommand } from '../../support/temporal-cli';
import { historyOf } from './histories';

const OLD = 'old-key-1c7e-old-key-1c7e-old-key-1c7e';
const NEW = 'new-key-88f2-new-key-88f2-new-key-88f2';
const SAID = 'private words of an event';
const ANSWERED = 'private words of a system';
const NOTED = 'private words of a decider';

let stub: HttpStandIn;
let harness: Harness;
let product: Awaited<ReturnType<typeof startOwn>>;

const startWith = async (keys: string): Promise<void> => {
  const shared = joinStack();
  product = await startOwn(shared.address, 'sealed', { TEMPORAL_PAYLOAD_KEY: keys });
  await shared.close();
  harness = joinStack(product);
};
const stop = async (): Promise<void> => {
  await harness.close();
  await product.stop();
};

beforeAll(async () => {
  stub = await startHttpServer(({ path }) =>
    path === '/broken' ? { status: 500 } : { body: { verdict: ANSWERED, verbose: 'x' } },
  );
  await startWith(OLD);
}, 120_000);
afterAll(async () => {
  await stop();
  await stub.stop();
});

type Fields = Record<string, unknown>;

const call = (id: string, path: string, more: Fields = {}): Fields => ({
  type: 'http_request',
  id,
  method: 'POST',
  url: `${stub.url}${path}`,
  retry: { max_attempts: 1 },
  ...more,
});
const contains = (field: string, value: string): Fields => ({ field, operator: 'contains', value });
const mark = (id: string, field: string, word: string): Fields => ({
  ...VARIABLES,
  id,
  values: { seen: 'yes' },
  when: contains(field, word),
});

const decide = async (org: TestOrg, execution: string): Promise<void> => {
  const gate = text((await openGateOf(org, execution))['id']);
  const decision = { decision: 'approved', note: NOTED };
  expect((await org.call('POST', `/agents/api/approvals/${gate}/decision`, decision)).status).toBe(200);
};
const statusesOf = (execution: Body): string[] => list(execution['steps']).map(({ status }) => text(status));

test('what conditions ask for and the texts of errors are sealed, ids and codes are readable, and all goes its way', async () => {
  const org = await harness.newOrg();
  const steps = [
    call('ask', '/answer'),
    mark('said', 'event_payload.name', 'event'),
    mark('answered', 'steps.ask.output.body.verdict', 'system'),
    mark('unsaid', 'event_payload.name', 'nobody'),
    GATE,
    call('failing', '/broken', { on_error: 'continue' }),
  ];
  await activeAgent(org, definitionWith(steps));
  const id = await run(org, { name: SAID });
  await decide(org, id);
  const ended = await waitForExecution(org, id, ['completed', 'failed']);
  expect(statusesOf(ended)).toEqual(['completed', 'completed', 'completed', 'skipped', 'completed', 'failed']);
  const error = text(list(ended['steps'])[5]?.['error']?.['message']);
  expect(error.length).toBeGreaterThan(10);
  const history = await historyOf(product, id);
  expect(history).toContain(`"execution_id":"${id}"`);
  expect(history).toContain('"facts":"sealed:');
  expect([SAID, ANSWERED, NOTED, error].filter((words) => history.includes(words))).toEqual([]);
});

test.each([
  ['a call', () => [call('failing', '/broken')]],
  ['a record', () => [{ ...VARIABLES, values: { big: '{{event_payload.big}}'.repeat(8) } }]],
])('the failure of an execution by %s is in its record and not in the history', async (_what, steps) => {
  const org = await harness.newOrg();
  await activeAgent(org, definitionWith(steps()));
  const ended = await waitForExecution(org, await run(org, { big: 'b'.repeat(150_000) }), ['completed', 'failed']);
  const { code, message } = ended['error'] as unknown as { code: string; message: string };
  expect([text(ended['status']), message]).toEqual(['failed', expect.not.stringContaining('Encoded')]);
  const id = text(ended['id']);
  const history = await waitFor(async () => {
    const found = await historyOf(product, id);
    return found.includes('workflowExecutionFailedEventAttributes') && found;
  });
  expect(history).toContain(code);
  expect(history).not.toContain(message.replace(/\..*/s, ''));
});

test('a decision by the engine’s own tools, which seal nothing, is taken', async () => {
  const org = await harness.newOrg();
  await activeAgent(org, definitionWith([GATE, VARIABLES]));
  const id = await run(org);
  const input = JSON.stringify({
    approval_id: text((await openGateOf(org, id))['id']),
    decision: 'approved',
    note: 'x',
  });
  await workflowCommand(harness, id, 'signal', '--name', 'approvalDecision', '--input', input);
  expect(text((await waitForExecution(org, id, ['completed', 'failed']))['status'])).toBe('completed');
});

/** The org as it is called where the product runs now. */
const here = (org: TestOrg): TestOrg => ({
  ...org,
  call: (method, path, body, headers = {}) =>
    request(product.baseUrl, { method, path, body, headers: { authorization: `Bearer ${org.key}`, ...headers } }),
});

test('a new key opens with the old one behind it; without it executions wait, and nothing of them is decided', async () => {
  const org = await harness.newOrg();
  await activeAgent(org, definitionWith([GATE, mark('said', 'event_payload.name', 'event')]));
  const waiting = new Map<string, string>();
  for (const keys of [NEW, '']) {
    const id = await run(org, { name: SAID });
    await openGateOf(org, id);
    waiting.set(keys, id);
  }
  for (const [keys, id] of waiting) {
    await stop();
    await startWith(keys);
    await decide(here(org), id);
    // A worker with a key seals its reason like any other, and says it in its log; one without says it in the history.
    const told = async () => [...product.worker.lines(), await historyOf(product, id)].join('\n');
    await waitFor(async () => (await told()).includes('TEMPORAL_PAYLOAD_KEY'), { what: 'why', timeoutMs: 40_000 });
    const { body } = await here(org).call('GET', `/agents/api/executions/${id}`);
    expect(text(body['status'])).toMatch(/^(waiting_approval|running)$/);
  }
  await stop();
  await startWith(`${NEW},${OLD}`);
  for (const id of waiting.values()) {
    const ended = await waitForExecution(here(org), id, ['completed', 'failed', 'cancelled'], 60_000);
    expect(statusesOf(ended)).toEqual(['completed', 'completed']);
  }
}, 240_000);

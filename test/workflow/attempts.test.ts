/** How long an attempt may take and how many there are: as the step says, whatever fails. */
import type { AgentDefinition } from '../../src/contracts/agent';
import { activeAgent, definitionWith, fire, run, VARIABLES, stepOf } from '../support/agents';
import { joinStack, text, waitFor, waitForExecution, type Body, type Harness, type TestOrg } from '../support/harness';
import { creditSums, storedAgent } from '../support/records';
import { startOwn } from '../support/stack';
import { startHttpServer, type HttpStandIn } from '../support/stand-ins/http-server';
import { startModelApi, type ModelApi } from '../support/stand-ins/model-api';

let harness: Harness;
let product: Awaited<ReturnType<typeof startOwn>>;
let stub: HttpStandIn;
let model: ModelApi;

/** What the stub waits before it answers, by the beginning of the path. */
const WAITS: Record<string, number> = { '/slow': 6_000, '/patient': 17_000 };

/** Paths that answer again. */
const mended = new Set<string>();

beforeAll(async () => {
  const shared = joinStack();
  await shared.close();
  stub = await startHttpServer(({ path }) => {
    if (path.startsWith('/broken') && !mended.has(path)) return { status: 503 };
    if (path === '/later' && callsTo(path) === 1)
      return { status: 429, headers: { 'retry-after': new Date(Date.now() + 4_000).toUTCString() } };
    return { delayMs: WAITS[/^\/[a-z]+/.exec(path)?.[0] ?? ''] ?? 0 };
  });
  model = await startModelApi({ delayMs: 6_000 });
  product = await startOwn(shared.address, 'attempts', {
    AI_PROVIDER: 'openai_compatible',
    AI_BASE_URL: model.url,
    AI_API_KEY: 'test',
    AI_MODEL_QUICK: 'small',
    WEBHOOK_GATEWAY_URL: '',
  });
  harness = joinStack(product);
}, 120_000);

afterAll(async () => {
  await harness.close();
  await product.stop();
  await Promise.all([stub.stop(), model.stop()]);
});

type Fields = Record<string, unknown>;

const call = (path: string, more: Fields): Fields => ({
  type: 'http_request',
  id: 'effect',
  method: 'POST',
  url: `${stub.url}${path}`,
  ...more,
});
const post = (path: string, more: Fields): Fields => ({
  type: 'notification',
  id: 'effect',
  channel: 'webhook',
  recipients: [`${stub.url}${path}`],
  body: 'Hello',
  ...more,
});
const ask = (more: Fields): Fields => ({ type: 'ai_reason', id: 'effect', tier: 'quick', prompt: 'Why?', ...more });
const retry = (attempts: number): Fields => ({ max_attempts: attempts, initial: '1s', max: '1s' });

const callsTo = (path: string): number => stub.requests.filter((request) => request.path === path).length;
const effectOf = (execution: Body): Body => stepOf(execution, 'effect');

/** Runs the step alone, in an org of its own, until it has ended. */
async function played(step: Fields, more: Fields[] = []): Promise<{ org: TestOrg; done: Body; tookMs: number }> {
  const org = await harness.newOrg();
  await activeAgent(org, definitionWith([step, ...more]));
  const startedAt = performance.now();
  const id = await run(org);
  const done = await waitForExecution(org, id, ['completed', 'failed'], 40_000);
  return { org, done, tookMs: performance.now() - startedAt };
}

const failure = (code: string, message: string) => ({ code, message: expect.stringContaining(message) as unknown });

describe('an attempt that takes longer than the step’s timeout', () => {
  test.each([
    ['http_request', call],
    ['notification', post],
  ])('of %s counts, so the outside hears of it max_attempts times', async (name, step) => {
    const played1 = played(step(`/slow-${name}-1`, { timeout: '2s', retry: retry(1) }));
    const played2 = played(step(`/slow-${name}-2`, { timeout: '1s', retry: retry(2) }));
    const [once, twice] = await Promise.all([played1, played2]);
    expect([callsTo(`/slow-${name}-1`), callsTo(`/slow-${name}-2`)]).toEqual([1, 2]);
    expect(once.tookMs).toBeLessThan(20_000);
    expect(once.done).toMatchObject({ status: 'failed', status_reason: 'step_failed' });
    const step1 = { status: 'failed', attempts: 1, error: failure('timeout', 'did not answer within 2 s') };
    expect(effectOf(once.done)).toMatchObject(step1);
    const step2 = { status: 'failed', attempts: 2, error: failure('timeout', 'did not answer within 1 s') };
    expect(effectOf(twice.done)).toMatchObject(step2);
  });

  test.each([
    ['fails', {}, 'failed'],
    ['goes on', { on_error: 'continue' }, 'completed'],
  ])('of ai_reason counts, costs nothing and holds nothing, when the execution %s', async (_name, more, status) => {
    const before = model.requests.length;
    const { org, done } = await played(ask({ timeout: '2s', retry: retry(1), ...more }), [VARIABLES]);
    expect(model.requests.length - before).toBe(1);
    expect([text(done['status']), done['credits_used']]).toEqual([status, 0]);
    expect(effectOf(done)).toMatchObject({
      status: 'failed',
      attempts: 1,
      credits_used: 0,
      error: failure('timeout', 'did not answer within 2 s'),
      model: { tier: 'quick', provider: 'openai_compatible', name: 'small' },
    });
    expect(await creditSums(harness.store, org.id)).toMatchObject({ total: 0, bySteps: 0, held: 0 });
  });
});

test('a cancel while a model is asked says so in the trace, and gives back what the call held', async () => {
  const org = await harness.newOrg();
  const when = { field: 'event_payload.name', operator: 'exists' };
  await activeAgent(org, definitionWith([{ ...ask({}), when }]));
  const before = model.requests.length;
  const id = await run(org);
  await waitFor(async () => model.requests.length > before);
  await org.call('POST', `/agents/api/executions/${id}/cancel`);
  const done = await waitFor(async () => {
    const { body } = await org.call('GET', `/agents/api/executions/${id}`);
    return text(effectOf(body)['status']) === 'failed' && body;
  });
  expect(effectOf(done)).toMatchObject({ attempts: 1, credits_used: 0, error: failure('cancelled', 'while it ran') });
  await waitFor(async () => (await creditSums(harness.store, org.id)).held === 0);
});

test('a failed step shows how often it was tried', async () => {
  const ends = { on_error: 'continue' };
  const played1 = await Promise.all([
    played(call('/broken-1', { retry: retry(3) })),
    played(call('/broken-2', { retry: retry(2), ...ends })),
    played(call('/broken-3', { url: 'http://10.255.255.1/', ...ends })),
  ]);
  expect(played1.map(({ done }) => effectOf(done)['attempts'])).toEqual([3, 2, 1]);
});

test('a request that is refused until a moment is made again then', async () => {
  const { done, tookMs } = await played(call('/later', {}));
  expect(effectOf(done)).toMatchObject({ status: 'completed', attempts: 2 });
  expect(tookMs).toBeGreaterThan(2_500);
});

test('a step may wait longer than 15 s for its answer when its timeout says so', async () => {
  const once = { timeout: '30s', retry: retry(1) };
  const [called, posted] = await Promise.all([played(call('/patient-1', once)), played(post('/patient-2', once))]);
  for (const { done } of [called, posted])
    expect(effectOf(done)).toMatchObject({ status: 'completed', attempts: 1, error: null });
});

test('a fault of ours counts as an attempt, too: it is not tried for minutes', async () => {
  const org = await harness.newOrg();
  // Saved before headers were checked: rendering a number throws.
  const step = call('/never', { headers: { 'X-Number': 5 }, retry: retry(2) });
  await storedAgent(harness.store, org.id, [step] as unknown as AgentDefinition['steps']);
  const [id = ''] = await fire(org);
  const done = await waitForExecution(org, id, ['failed']);
  expect(effectOf(done)).toMatchObject({ status: 'failed', attempts: 2, error: failure('step_failed', 'TypeError') });
  expect(callsTo('/never')).toBe(0);
});

const tried = (code: string) => ({ code, message: expect.any(String) as string });

test.each([
  ['recorded as it begins', []],
  ['behind a delay', [{ type: 'delay', id: 'soon', for: '1s' }]],
])(
  'a step that is tried again shows how often it was and why, and nothing of it once it is done: %s',
  async (name, before) => {
    const org = await harness.newOrg();
    const path = `/broken/until-mended/${before.length}`;
    await activeAgent(org, definitionWith([...before, call(path, { retry: retry(20) })]));
    const id = await run(org);
    const now = async () => effectOf((await org.call('GET', `/agents/api/executions/${id}`)).body);
    await waitFor(async () => Number((await now())['attempts']) > 1, { what: `attempts of a step ${name}` });
    expect(await now()).toMatchObject({ status: 'running', error: tried('server_error'), completed_at: null });
    mended.add(path);
    const done = effectOf(await waitForExecution(org, id, ['completed', 'failed']));
    expect(done).toMatchObject({ status: 'completed', error: null });
    expect(done['attempts']).toBe(callsTo(path));
  },
);

test('one that is cancelled between two attempts keeps their number', async () => {
  const org = await harness.newOrg();
  const pauses = { max_attempts: 10, initial: '1s', max: '1m' };
  await activeAgent(org, definitionWith([call('/broken/for-good', { retry: pauses })]));
  const id = await run(org);
  await waitFor(async () => {
    const { body } = await org.call('GET', `/agents/api/executions/${id}`);
    return Number(effectOf(body)['attempts']) >= 2;
  });
  await org.call('POST', `/agents/api/executions/${id}/cancel`);
  const cancelled = effectOf(await waitForExecution(org, id, ['cancelled']));
  expect(cancelled).toMatchObject({ status: 'failed', error: tried('cancelled') });
  expect(Number(cancelled['attempts'])).toBeGreaterThanOrEqual(2);
});

/** A notification with several recipients: whoever can be reached is, once, whatever becomes of the others. */
import { activeAgent, definitionWith, run } from '../support/agents';
import { joinStack, list, text, waitForExecution, type Body, type Harness } from '../support/harness';
import { startOwn } from '../support/stack';
import { startHttpServer, type HttpStandIn } from '../support/stand-ins/http-server';

let harness: Harness;
let product: Awaited<ReturnType<typeof startOwn>>;
let stub: HttpStandIn;
let callsOfLate = 0;

beforeAll(async () => {
  const shared = joinStack();
  stub = await startHttpServer(({ path }) => {
    if (path === '/forbidden') return { status: 403 };
    if (path === '/late') return { status: (callsOfLate += 1) < 3 ? 503 : 200 };
    return path.startsWith('/hangs') ? { hang: true } : {};
  });
  // Without a gateway, so that each recipient is an address of its own.
  product = await startOwn(shared.address, 'recipients', { WEBHOOK_GATEWAY_URL: '' });
  await shared.close();
  harness = joinStack(product);
}, 120_000);
afterAll(async () => {
  await harness.close();
  await product.stop();
  await stub.stop();
});

const callsTo = (path: string): number => stub.requests.filter((request) => request.path === path).length;

/** Runs a step that tells these recipients, and answers the step once the run has ended. */
async function told(
  recipients: string[],
  more: Record<string, unknown> = {},
  payload: Record<string, unknown> = {},
): Promise<Body> {
  const org = await harness.newOrg();
  const retry = { max_attempts: 3, initial: '1s', max: '1s' };
  const step = { type: 'notification', id: 'tell', channel: 'webhook', recipients, body: 'Hello', retry, ...more };
  await activeAgent(org, definitionWith([step]));
  const done = await waitForExecution(org, await run(org, payload), ['completed', 'failed']);
  return list(done['steps'])[0] ?? {};
}

const outcomes = (step: Body): string[][] =>
  list(step['output']?.['deliveries']).map(({ recipient, status }) => [text(recipient), text(status)]);

test('a value in the address of a webhook is one piece of it, whatever it holds', async () => {
  const word = "{{default event_payload.none '../a/b?c=d&e#f'}}";
  const step = await told([`${stub.url}/to/${word}?for=${word}`]);
  expect(text(step['status'])).toBe('completed');
  const piece = encodeURIComponent('../a/b?c=d&e#f');
  const address = `/to/${piece}?for=${piece}`;
  expect(callsTo(address)).toBe(1);
  expect(outcomes(step)).toEqual([[`${stub.url}${address}`, 'sent']]);
});

test.each([
  ['refuses the caller', () => `${stub.url}/forbidden`],
  ['is no public address', () => 'http://10.0.0.1/x'],
])('one that %s counts as rejected, and the others are told', async (what, bad) => {
  const good = `${stub.url}/good-${what.length}`;
  const step = await told([bad(), good]);
  expect(text(step['status'])).toBe('completed');
  expect(outcomes(step)).toEqual([
    [bad(), 'rejected'],
    [good, 'sent'],
  ]);
});

test('the only one is in the trace as rejected, too', async () => {
  const bad = `${stub.url}/forbidden`;
  const step = await told([bad]);
  expect(text(step['status'])).toBe('failed');
  expect(outcomes(step)).toEqual([[bad, 'rejected']]);
});

test('one whose name leads nowhere fails the step, and the others were told once', async () => {
  const good = `${stub.url}/beside-nowhere`;
  const step = await told(['http://nowhere.invalid/x', good]);
  expect(text(step['status'])).toBe('failed');
  expect(text(step['error']?.['code'])).toBe('network');
  expect(text(step['error']?.['message'])).toContain('http://nowhere.invalid/x: ');
  expect(outcomes(step)).toEqual([[good, 'sent']]);
  expect(callsTo('/beside-nowhere')).toBe(1);
});

test('only those who were not reached are tried again', async () => {
  const [late, good] = [`${stub.url}/late`, `${stub.url}/beside-late`];
  const step = await told([late, good]);
  expect(text(step['status'])).toBe('completed');
  expect(step['attempts']).toBe(3);
  expect(new Set(outcomes(step).map(([recipient]) => recipient))).toEqual(new Set([late, good]));
  expect([callsOfLate, callsTo('/beside-late')]).toEqual([3, 1]);
});

test('one that never answers leaves the next attempt to the others', async () => {
  const step = await told([`${stub.url}/hangs`, `${stub.url}/behind-it`], { timeout: '2s' });
  expect(text(step['status'])).toBe('failed');
  expect(callsTo('/behind-it')).toBe(1);
});

test('alone, the code says what was wrong with it', async () => {
  expect(text((await told([`${stub.url}/forbidden`]))['error']?.['code'])).toBe('auth');
  expect(text((await told(['http://10.0.0.1/x']))['error']?.['code'])).toBe('blocked_address');
});

test.each(['slack', 'webhook', 'email', 'sms'])(
  'by %s, a placeholder without a value is nobody to tell',
  async (channel) => {
    const step = await told(['{{event_payload.nobody}}'], { channel });
    expect(text(step['status'])).toBe('failed');
    expect(step['error']).toEqual({ code: 'rejected', message: 'A recipient is empty: its placeholder has no value' });
    expect(outcomes(step)).toEqual([['', 'rejected']]);
  },
);

describe('a placeholder for a list', () => {
  const watchers = ['{{event_payload.watchers}}'];

  test('is everybody in it, each of them once, beside those who are named', async () => {
    const [one, other, late] = ['/of-list/1', '/of-list/2', '/of-list/3'].map((path) => `${stub.url}${path}`);
    const step = await told([`${stub.url}/of-list/3`, ...watchers], {}, { watchers: [one, ` ${other} `, one, late] });
    expect(text(step['status'])).toBe('completed');
    expect(outcomes(step)).toEqual([late, one, other].map((recipient) => [recipient, 'sent']));
    expect(['/of-list/1', '/of-list/2', '/of-list/3'].map(callsTo)).toEqual([1, 1, 1]);
  });

  test('of whom one cannot be reached is tried again for that one alone', async () => {
    callsOfLate = 0;
    const step = await told(watchers, {}, { watchers: [`${stub.url}/late`, `${stub.url}/beside-late-of-list`] });
    expect(text(step['status'])).toBe('completed');
    expect([callsOfLate, callsTo('/beside-late-of-list')]).toEqual([3, 1]);
  });

  test.each(['email', 'sms'])('reaches the good ones by %s, whatever else is in it', async (channel) => {
    const good = channel === 'email' ? ['ada@example.com', 'ben@example.com'] : ['+41441234567', '+41441234568'];
    const step = await told(watchers, { channel }, { watchers: [good[0], null, { name: 'Ada' }, good[1]] });
    expect(text(step['status'])).toBe('completed');
    expect(outcomes(step)).toEqual([
      [good[0], 'sent'],
      ['', 'rejected'],
      ['{"name":"Ada"}', 'rejected'],
      [good[1], 'sent'],
    ]);
  });

  test('without anybody in it is nobody to tell', async () => {
    const step = await told(watchers, {}, { watchers: [] });
    expect(step['error']).toEqual({ code: 'rejected', message: 'A recipient is empty: its placeholder has no value' });
  });

  test('with more people than a step may tell tells nobody, and says how many it were', async () => {
    const many = Array.from({ length: 51 }, (_unused, index) => `${stub.url}/many/${index}`);
    const step = await told(watchers, {}, { watchers: many });
    expect(step['error']).toEqual({
      code: 'invalid_input',
      message: 'The step has 51 recipients once its placeholders are filled, and may have at most 50',
    });
    expect(many.flatMap((_unused, index) => (callsTo(`/many/${index}`) > 0 ? [index] : []))).toEqual([]);
  });
});

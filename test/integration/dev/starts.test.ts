/** What processes say at start when a setting cannot work, and what they wait for. */
import { spawn } from 'node:child_process';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { choosePort } from '../../../scripts/services/ports';
import { joinStack, request, waitFor, type Harness } from '../../support/harness';
import { compiled } from '../../support/global-build';
import { temporalCommand } from '../../support/temporal-cli';

let harness: Harness;
beforeAll(() => {
  harness = joinStack();
});
afterAll(() => harness.close());

interface Start {
  said: () => string;
  code: () => number | null;
  stop: () => void;
  end: () => void;
}

function start(script: string, env: Record<string, string>): Start {
  const child = spawn(process.execPath, [compiled(script)], {
    env: { PATH: process.env['PATH'] ?? '', ...harness.address.env, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  const note = (chunk: Buffer): void => {
    said += chunk.toString();
  };
  child.stdout.on('data', note);
  child.stderr.on('data', note);
  return {
    said: () => said,
    code: () => child.exitCode,
    stop: () => child.kill('SIGTERM'),
    end: () => child.kill('SIGKILL'),
  };
}

async function refusal(script: string, env: Record<string, string>): Promise<string> {
  const started = start(script, env);
  try {
    await waitFor(async () => started.code() !== null, {
      timeoutMs: 20_000,
      what: `the end; it said ${started.said()}`,
    });
    expect(started.code()).toBe(1);
    return started.said();
  } finally {
    started.end();
  }
}

const API = 'src/main.ts';
const WORKER = 'worker/main.ts';

test.each([
  [API, { MONGODB_URI: 'notauri' }, /^MONGODB_URI must be an address such as .*\n$/],
  [WORKER, { MONGODB_URI: 'notauri' }, /^MONGODB_URI must be an address such as .*\n$/],
  [WORKER, { WORKFLOW_BUNDLE: tmpdir() }, /^WORKFLOW_BUNDLE names .*, which is no file.*\n$/],
  [WORKER, { WORKFLOW_BUNDLE: '/nope.js' }, /^WORKFLOW_BUNDLE names \/nope.js, which is no file.*\n$/],
  [WORKER, { LOG_LEVEL: 'verbose' }, /^LOG_LEVEL must be one of debug, .*\n$/],
])('%s with %j ends with one sentence', async (script, env, sentence) => {
  expect(await refusal(script, env)).toMatch(sentence);
});

test('a port that is taken is named with its setting', async () => {
  const holder = createServer();
  await new Promise<void>((done) => holder.listen(0, '127.0.0.1', done));
  const taken = String((holder.address() as AddressInfo).port);
  try {
    expect(await refusal(API, { PORT: taken })).toContain(`PORT ${taken} is taken on 127.0.0.1`);
    expect(await refusal(WORKER, { WORKER_PORT: taken })).toContain(`WORKER_PORT ${taken} is taken on 127.0.0.1`);
  } finally {
    holder.close();
  }
});

test('a worker waits for a namespace that does not exist yet, and names it', async () => {
  const worker = start(WORKER, { TEMPORAL_NAMESPACE: 'nope' });
  try {
    await waitFor(async () => worker.said().includes('waiting for the engine'), { timeoutMs: 20_000, what: 'a word' });
    expect(worker.said()).toContain('there is no TEMPORAL_NAMESPACE nope; make it with');
    expect(worker.code()).toBeNull();
  } finally {
    worker.end();
  }
});

test('an API whose namespace does not exist, or lacks search attributes, starts nothing, says once how to mend it, and goes on', async () => {
  const namespace = `late-${Date.now()}`;
  const port = String(await choosePort());
  const api = start(API, { PORT: port, TEMPORAL_NAMESPACE: namespace, LOG_LEVEL: 'warn' });
  const baseUrl = `http://127.0.0.1:${port}`;
  const org = await harness.newOrg();
  const post = () =>
    request(baseUrl, {
      method: 'POST',
      path: '/agents/api/events/ingest',
      headers: { authorization: `Bearer ${org.key}` },
      body: { event_type: 'custom.late', source_product: 'custom', payload: {} },
    });
  const ready = () => request(baseUrl, { method: 'GET', path: '/readyz' }).catch(() => null);
  try {
    const answer = await waitFor(
      async () => {
        const found = await ready();
        return found?.body['store'] && found;
      },
      { timeoutMs: 30_000, what: `an answer; it said ${api.said()}` },
    );
    expect([answer.status, answer.body]).toEqual([503, { status: 'unavailable', store: true, engine: false }]);
    const refused = await post();
    expect([refused.status, refused.body['error']]).toEqual([503, 'engine_unavailable']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    await ready();
    expect(api.said().match(/"engine away","why":"there is no TEMPORAL_NAMESPACE late-/g)).toHaveLength(1);

    await temporalCommand(harness, 'operator', 'namespace', 'create', '--namespace', namespace);
    await waitFor(async () => api.said().includes('search attributes'), { timeoutMs: 30_000, what: 'a word' });
    expect((await post()).status).toBe(503);
    await ready();
    expect(api.said().match(/lacks search attributes/g)).toHaveLength(1);

    const [, command = ''] = /make them with: temporal ([^"]+)"/.exec(api.said()) ?? [];
    await temporalCommand(harness, ...command.split(' '));
    await waitFor(async () => (await ready())?.status === 200, { timeoutMs: 30_000, what: 'ready' });
    expect((await post()).status).toBe(202);
    expect(api.said()).toContain('"engine back"');
  } finally {
    api.end();
  }
});

test('a worker in a namespace without search attributes says how to make them, and goes on once they are there', async () => {
  const namespace = `bare-${Date.now()}`;
  await temporalCommand(harness, 'operator', 'namespace', 'create', '--namespace', namespace);
  const worker = start(WORKER, { TEMPORAL_NAMESPACE: namespace });
  try {
    await waitFor(async () => worker.said().includes('search attributes'), { timeoutMs: 40_000, what: 'a word' });
    const [, command = ''] = /make them with: temporal ([^"]+)"/.exec(worker.said()) ?? [];
    expect(worker.said()).not.toContain('worker ready');
    await temporalCommand(harness, ...command.split(' '));
    await waitFor(async () => worker.said().includes('worker ready'), { timeoutMs: 40_000, what: 'ready' });
  } finally {
    worker.end();
  }
});

test('a worker that waits for the engine lives, is not ready, and ends in good order when it is told to', async () => {
  const port = String(await choosePort());
  const worker = start(WORKER, { WORKER_PORT: port, TEMPORAL_ADDRESS: '127.0.0.1:1' });
  try {
    await waitFor(async () => worker.said().includes('waiting for the engine'), { timeoutMs: 20_000, what: 'a word' });
    const answers = ['/healthz', '/readyz'].map(async (path) => {
      const reply = await fetch(`http://127.0.0.1:${port}${path}`);
      return [reply.status, await reply.json()];
    });
    expect(await Promise.all(answers)).toEqual([
      [200, { status: 'ok' }],
      [503, { status: 'unavailable', engine: false }],
    ]);
    worker.stop();
    await waitFor(async () => worker.code() !== null, { timeoutMs: 5_000, what: 'the end' });
    expect(worker.code()).toBe(0);
  } finally {
    worker.end();
  }
});

test('an API that waits for the store ends in good order when it is told to', async () => {
  const api = start(API, { MONGODB_URI: 'mongodb://127.0.0.1:1/none' });
  try {
    await waitFor(async () => api.said().includes('waiting for the store'), { timeoutMs: 20_000, what: 'a word' });
    api.stop();
    await waitFor(async () => api.code() !== null, { timeoutMs: 10_000, what: 'the end' });
    expect(api.code()).toBe(0);
  } finally {
    api.end();
  }
});

test('the worker’s health port knows its two paths and no other', async () => {
  const port = String(await choosePort());
  const worker = start(WORKER, { WORKER_PORT: port });
  try {
    await waitFor(async () => worker.said().includes('worker ready'), { timeoutMs: 30_000, what: 'ready' });
    const paths = ['/healthz', '/readyz', '/', '/metrics'];
    const answers = paths.map(async (path) => (await fetch(`http://127.0.0.1:${port}${path}`)).status);
    expect(await Promise.all(answers)).toEqual([200, 200, 404, 404]);
  } finally {
    worker.end();
  }
});

/** What both processes write at their most talkative, what the engine keeps and what the store holds: no secret in it. */
import { hashPassword } from '../../../src/domain/password';
import { activeAgent, definitionWith, mailTo, REASON, run, VARIABLES } from '../../support/agents';
import {
  joinStack,
  list,
  request,
  text,
  waitFor,
  waitForExecution,
  type Harness,
  type TestOrg,
} from '../../support/harness';
import { startStack, type Stack } from '../../support/stack';
import { newUser } from '../auth/support';
import { historyOf } from './histories';

const PASSWORD = 'a password that is nobody else’s 7f3a';
const PEPPER = 'pepper-9d41-pepper-9d41-pepper-9d41-0000';
const SESSION_SECRET = 'session-52c8-session-52c8-session-52c8-00';
const TOKEN_SECRET = 'token-a1e6-token-a1e6-token-a1e6-000000000';
const GATEWAY_TOKEN = 'gateway-c0ffee-gateway-c0ffee';

let stack: Stack;
let harness: Harness;
let org: TestOrg;
beforeAll(async () => {
  stack = await startStack({
    env: {
      LOG_LEVEL: 'debug',
      KEY_PEPPER: PEPPER,
      SESSION_SECRET,
      TOKEN_SECRET,
      GATEWAY_TOKEN,
      AI_API_KEY: 'sk-3b7d-ai-key-3b7d',
    },
  });
  harness = joinStack(stack);
  org = await harness.newOrg();
}, 240_000);
afterAll(async () => {
  await harness.close();
  await stack.stop();
});

/** Uses every secret there is; answers them by name. */
async function useSecrets(): Promise<{ secrets: Record<string, string>; execution: string }> {
  const user = await newUser(harness.store, org.id, { passwordHash: await hashPassword(PASSWORD) });
  const session = '/console/api/session';
  const signIn = (password: string) =>
    request(stack.baseUrl, { method: 'POST', path: session, body: { email: user.email, password } });
  await signIn(`${PASSWORD} wrong`);
  const opened = await signIn(PASSWORD);
  const cookie = (opened.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';
  const csrfToken = text(opened.body['csrfToken']);
  const headers = { cookie, 'x-csrf-token': csrfToken };
  const keys = '/console/api/api-keys';
  const created = await request(stack.baseUrl, {
    method: 'POST',
    path: keys,
    body: { kind: 'platform', name: 'Log', scopes: ['PSA'] },
    headers,
  });
  const key = text(created.body['key']);
  const rotated = await request(stack.baseUrl, {
    method: 'POST',
    path: `${keys}/${text(created.body['id'])}/rotate`,
    body: {},
    headers,
  });
  const successor = text(rotated.body['key']);
  const wrong = `${successor.slice(0, -1)}${successor.endsWith('a') ? 'b' : 'a'}`;
  for (const [path, used] of [
    ['/psa/api/tickets', key],
    ['/psa/api/tickets', wrong],
    [`/psa/api/tickets?api_key=${key}`, key],
    [`/psa/api/tickets?x=${successor}`, key],
    [`/psa/api/${successor}`, successor],
    [`/psa/api/tickets/${successor}`, successor],
  ] as const)
    await request(stack.baseUrl, { method: 'GET', path, headers: { authorization: `Bearer ${used}` } });
  for (const body of [`{"subject": "${key}`, { subject: 'x', note: key }, { subject: 7, status: successor }])
    await request(stack.baseUrl, {
      method: 'POST',
      path: '/psa/api/tickets',
      body,
      headers: { 'x-integration-key': key },
    });
  await activeAgent(org, definitionWith([VARIABLES, REASON, mailTo('ada@example.com')]));
  const execution = await run(org);
  await waitForExecution(org, execution, ['completed', 'failed']);
  const [, token = ''] = cookie.split('=');
  const secrets = {
    key,
    successor,
    wrong,
    token,
    csrfToken,
    PASSWORD,
    PEPPER,
    SESSION_SECRET,
    TOKEN_SECRET,
    GATEWAY_TOKEN,
    orgKey: org.key,
    aiKey: 'sk-3b7d-ai-key-3b7d',
  };
  return { secrets, execution };
}

async function dump(): Promise<string> {
  const { db } = harness.store.connection;
  let all = '';
  for (const { name } of (await db?.listCollections().toArray()) ?? [])
    all += JSON.stringify(await db?.collection(name).find().toArray());
  return all;
}

test('no log line, no history and no document holds a key, a password, a token or a secret of the deployment', async () => {
  const { secrets, execution } = await useSecrets();
  expect(Object.entries(secrets).filter(([, secret]) => secret.length < 16)).toEqual([]);
  const lines = () => [...stack.api.lines(), ...stack.worker.lines()].join('\n');
  await waitFor(() => Promise.resolve(lines().includes(execution) || lines().includes('"operation":"getExecution"')));
  const places: Record<string, string> = {
    logs: lines(),
    history: await historyOf(stack, execution),
    store: await dump(),
  };
  // Otherwise the payloads were not read, and nothing could be found in them.
  expect(places['history']).toContain(`"execution_id":"${execution}"`);
  for (const [place, content] of Object.entries(places)) {
    expect(content.length).toBeGreaterThan(1_000);
    const found = Object.entries(secrets).filter(([, secret]) => content.includes(secret));
    // A key that a caller writes into a ticket is that caller's text, not the deployment's secret.
    expect([place, found.map(([name]) => name)]).toEqual([place, []]);
  }
});

test('no history holds a prompt, a recipient, what an event said or what a step answered', async () => {
  const own = await harness.newOrg();
  await activeAgent(own, definitionWith([VARIABLES, REASON, mailTo('ada@example.com')]));
  const execution = await run(own, { name: 'A private name' });
  const ended = await waitForExecution(own, execution, ['completed', 'failed']);
  const outputs = list(ended['steps']).flatMap(({ output }) =>
    Object.values((output ?? {}) as Record<string, unknown>),
  );
  const answered = outputs.map(String).filter((value) => value.length > 10);
  expect(answered.length).toBeGreaterThan(1);
  const history = await historyOf(stack, execution);
  expect(history).toContain(`"execution_id":"${execution}"`);
  const kept = ['Summarise', 'ada@example.com', 'A private name', ...answered];
  expect(kept.filter((value) => history.includes(value))).toEqual([]);
});

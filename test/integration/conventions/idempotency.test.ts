/** Idempotency keys: one effect and one answer, for whoever sent the key first, also when a process dies in between. */
import { hashKey, lastFour, mintKey } from '../../../src/domain/api-key';
import { newId } from '../../../src/domain/ids';
import { readConfig } from '../../../src/config';
import { raiseEpoch } from '../../../src/store/guards';
import { insertKey } from '../../../src/store/keys';
import { signIn, testContext } from '../auth/support';
import { activeAgent, definitionWith, onTicketCreated, run, VARIABLES } from '../../support/agents';
import {
  joinStack,
  list,
  request,
  text,
  waitFor,
  waitForExecution,
  type Answer,
  type Harness,
  type TestOrg,
} from '../../support/harness';

let harness: Harness;
beforeAll(() => {
  harness = joinStack();
});
afterAll(() => harness.close());

const TICKETS = '/psa/api/tickets';
const ticket = (subject = 'Printer on fire') => ({ subject, priority: 'low' });
const keyed = (key: string, more: Record<string, string> = {}) => ({ 'idempotency-key': key, ...more });
const post = (org: TestOrg, path: string, body: unknown, key: string) => org.call('POST', path, body, keyed(key));
const isReplay = (answer: Answer): boolean => answer.headers.get('idempotency-replayed') === 'true';

const ticketIds = async (org: TestOrg): Promise<string[]> =>
  list((await org.call('GET', TICKETS)).body['items']).map((item) => text(item['id']));

const records = () => harness.store.connection.collection('idempotency');

/** Leaves the org's requests as a process leaves them that died after the effect and before the answer. */
async function forgetAnswers(org: TestOrg, lease = -1_000): Promise<void> {
  const { modifiedCount } = await records().updateMany({ _id: { $regex: `^${org.id}:` } } as never, {
    $set: { status: null, body: null, headers: {}, lease_until: new Date(Date.now() + lease) },
  });
  expect(modifiedCount).toBeGreaterThan(0);
}

test('after a 412 the same key goes on with the tag that was read meanwhile', async () => {
  const org = await harness.newOrg();
  const made = await post(org, TICKETS, ticket(), 'lost-update');
  const path = `${TICKETS}/${text(made.body['id'])}`;
  const stale = { 'if-match': made.headers.get('etag') ?? '' };
  expect((await org.call('PATCH', path, { priority: 'high' })).status).toBe(200);
  expect((await org.call('PATCH', path, { subject: 'Mine' }, keyed('mine', stale))).status).toBe(412);
  const fresh = { 'if-match': (await org.call('GET', path)).headers.get('etag') ?? '' };
  const changed = await org.call('PATCH', path, { subject: 'Mine' }, keyed('mine', fresh));
  expect([changed.status, changed.body['subject'], changed.body['priority']]).toEqual([200, 'Mine', 'high']);
  expect(isReplay(await org.call('PATCH', path, { subject: 'Mine' }, keyed('mine', fresh)))).toBe(true);
});

describe('a key that was used', () => {
  test('the same request gets the same answer, and the effect happens once', async () => {
    const org = await harness.newOrg();
    const first = await post(org, TICKETS, ticket(), 'one');
    const second = await post(org, TICKETS, { priority: 'low', subject: 'Printer on fire' }, '"one"');
    expect([first.status, isReplay(first)]).toEqual([201, false]);
    expect([second.status, isReplay(second), second.text]).toEqual([201, true, first.text]);
    for (const name of ['etag', 'location']) expect(second.headers.get(name)).toBe(first.headers.get(name));
    expect(await ticketIds(org)).toEqual([text(first.body['id'])]);
  });

  test('so does the same request under another spelling of its address', async () => {
    const org = await harness.newOrg();
    const spellings = [TICKETS, `${TICKETS}/`, '/psa/api/ticket%73', '/psa/api/%74ickets'];
    const answers: Answer[] = [];
    for (const path of spellings) answers.push(await post(org, path, ticket(), 'spelt'));
    expect(answers.map(isReplay)).toEqual([false, true, true, true]);
    expect(await ticketIds(org)).toHaveLength(1);
  });

  test('another body is refused with 422, and nothing is made', async () => {
    const org = await harness.newOrg();
    await post(org, TICKETS, ticket(), 'one');
    const other = await post(org, TICKETS, ticket('Something else'), 'one');
    expect([other.status, other.body['code']]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
    expect(await ticketIds(org)).toHaveLength(1);
  });

  test('another tenant, another key of the tenant and another path have keys of their own', async () => {
    const [org, stranger] = await Promise.all([harness.newOrg(), harness.newOrg()]);
    const secret = mintKey('platform');
    const config = readConfig(harness.address.env);
    await insertKey(harness.store, {
      _id: newId('key'),
      orgId: org.id,
      kind: 'platform',
      name: 'second',
      scopes: ['PSA'],
      tier: 'enterprise',
      hash: hashKey(config.secrets.keyPepper, secret),
      last4: lastFour(secret),
      expiresAt: null,
      createdAt: new Date(),
      createdBy: 'test',
      revokedAt: null,
      revokedBy: null,
      rotatedFrom: null,
      version: 1,
    });
    const colleague = (path: string, body: unknown) =>
      request(harness.address.baseUrl, {
        method: 'POST',
        path,
        body,
        headers: keyed('one', { authorization: `Bearer ${secret}` }),
      });
    const answers = [
      await post(org, TICKETS, ticket(), 'one'),
      await post(stranger, TICKETS, ticket('Not theirs'), 'one'),
      await colleague(TICKETS, ticket('A colleague’s')),
      await post(org, '/psa/api/companies', { name: 'Northwind' }, 'one'),
    ];
    expect(answers.map((answer) => [answer.status, isReplay(answer)])).toEqual(answers.map(() => [201, false]));
    expect(new Set(answers.map((answer) => text(answer.body['id']))).size).toBe(4);
  });

  test('ten at once: one effect; the others wait their turn or get its answer', async () => {
    const org = await harness.newOrg();
    const answers = await Promise.all(Array.from({ length: 10 }, () => post(org, TICKETS, ticket(), 'one')));
    const waiting = answers.filter((answer) => answer.status === 409);
    for (const answer of waiting) {
      expect(answer.body['code']).toBe('IDEMPOTENCY_IN_PROGRESS');
      expect(answer.headers.get('retry-after')).toBe('1');
    }
    const done = answers.filter((answer) => answer.status === 201);
    expect(done.length + waiting.length).toBe(10);
    expect(done.filter((answer) => !isReplay(answer))).toHaveLength(1);
    expect(await ticketIds(org)).toHaveLength(1);
  });

  test('a key older than a day stands for a new request', async () => {
    const org = await harness.newOrg();
    await post(org, TICKETS, ticket(), 'one');
    await records().updateMany({ _id: { $regex: `^${org.id}:` } } as never, { $set: { expires_at: new Date(0) } });
    const again = await post(org, TICKETS, ticket('Another day'), 'one');
    expect([again.status, isReplay(again)]).toEqual([201, false]);
    expect(await ticketIds(org)).toHaveLength(2);
  });
});

describe('refusals', () => {
  test('400: a key that is empty, too long or has spaces is refused by name', async () => {
    const org = await harness.newOrg();
    for (const key of ['two words', 'x'.repeat(256), '""']) {
      const answer = await post(org, TICKETS, ticket(), key);
      expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('Idempotency-Key')]);
    }
    expect(await ticketIds(org)).toEqual([]);
  });

  test('a refusal that stays is repeated; one that may pass frees the key', async () => {
    const org = await harness.newOrg();
    const missing = '/agents/api/agents/agt_01KAJ5Q3Z8M4T7V9X2B6C1D0EF/clone';
    const first = await post(org, missing, {}, 'one');
    const second = await post(org, missing, {}, 'one');
    expect([first.status, isReplay(first), second.status, isReplay(second)]).toEqual([404, false, 404, true]);

    const id = await activeAgent(org, definitionWith([{ type: 'approval_gate', id: 'gate', message: 'Go on?' }]));
    expect(id).toBeTruthy();
    const execution = await run(org);
    const path = `/agents/api/executions/${execution}/retry`;
    expect((await post(org, path, undefined, 'retry')).status).toBe(409);
    await org.call('POST', `/agents/api/executions/${execution}/cancel`);
    const retried = await post(org, path, undefined, 'retry');
    expect([retried.status, isReplay(retried)]).toEqual([202, false]);
  });

  test('409: a run whose lease is not over is not run again', async () => {
    const org = await harness.newOrg();
    await post(org, TICKETS, ticket(), 'one');
    await forgetAnswers(org, 20_000);
    expect((await post(org, TICKETS, ticket(), 'one')).body['code']).toBe('IDEMPOTENCY_IN_PROGRESS');
  });
});

describe('a request that failed after its effect', () => {
  const trail = () => harness.store.connection.collection('audit_entries');
  const AGENTS = '/agents/api/agents';

  test('503 and 500 leave the key with its record: a repeat answers that, and writes what is missing', async () => {
    const org = await harness.newOrg();
    // The place of the first entry is taken, so that the agent is made and its entry is not.
    const taken = { _id: `${org.id}:1` } as never;
    await trail().insertOne({
      _id: `${org.id}:1`,
      id: newId('aud'),
      orgId: 'org_nobody',
      sequence: -Date.now(),
    } as never);
    const failed = await post(org, AGENTS, definitionWith([VARIABLES]), 'one');
    expect(failed.status).toBeGreaterThanOrEqual(500);
    await trail().deleteOne(taken);
    const other = await post(org, AGENTS, definitionWith([VARIABLES], { name: 'Another' }), 'one');
    expect(other.status).toBe(422);
    const again = await post(org, AGENTS, definitionWith([VARIABLES]), 'one');
    expect([again.status, isReplay(again)]).toEqual([201, false]);
    const agents = list((await org.call('GET', `${AGENTS}?type=custom`)).body['agents']);
    expect(agents.map(({ id }) => id)).toEqual([again.body['id']]);
    const entries = await trail().find({ orgId: org.id }).toArray();
    expect(entries).toMatchObject([{ action: 'agent.created', target: { id: again.body['id'] } }]);
    expect(isReplay(await post(org, AGENTS, definitionWith([VARIABLES]), 'one'))).toBe(true);
  });
});

describe('a process that died after the effect and before the answer', () => {
  test('a ticket: the same one, one event, one execution', async () => {
    const org = await harness.newOrg();
    await activeAgent(org, onTicketCreated());
    const first = await post(org, TICKETS, ticket(), 'one');
    const started = async () => list((await org.call('GET', '/agents/api/executions')).body['executions']);
    await waitFor(async () => (await started()).length === 1);
    await forgetAnswers(org);
    const second = await post(org, TICKETS, ticket(), 'one');
    expect([second.status, second.text]).toEqual([201, first.text]);
    const third = await post(org, TICKETS, ticket(), 'one');
    expect([third.status, isReplay(third), third.text]).toEqual([201, true, first.text]);
    expect(await ticketIds(org)).toHaveLength(1);
    const [execution] = await started();
    await waitForExecution(org, text(execution?.['id']), ['completed']);
    expect(await started()).toHaveLength(1);
  });

  test('a change with If-Match: made once, and answered as made', async () => {
    const org = await harness.newOrg();
    const made = await org.call('POST', TICKETS, ticket());
    const path = `${TICKETS}/${text(made.body['id'])}`;
    const headers = keyed('one', { 'if-match': made.headers.get('etag') ?? '' });
    const first = await org.call('PATCH', path, { priority: 'high' }, headers);
    await forgetAnswers(org);
    const second = await org.call('PATCH', path, { priority: 'high' }, headers);
    expect([first.status, second.status, second.text]).toEqual([200, 200, first.text]);
    expect((await org.call('GET', path)).body['version']).toBe(2);
  });

  test('a webhook endpoint that is enabled with If-Match', async () => {
    const org = await harness.newOrg();
    const endpoint = { url: 'https://hooks.example.com/x', eventTypes: ['psa:custom.*'] };
    const made = await org.call('POST', '/console/api/webhooks', endpoint);
    const path = `/console/api/webhooks/${text(made.body['id'])}`;
    await harness.store.connection
      .collection('webhooks')
      .updateOne({ _id: made.body['id'] } as never, { $set: { status: 'disabled' }, $inc: { version: 1 } });
    const off = await org.call('GET', path);
    const headers = keyed('enable', { 'if-match': off.headers.get('etag') ?? '' });
    const first = await org.call('POST', `${path}/enable`, undefined, headers);
    await forgetAnswers(org);
    const repeated = await org.call('POST', `${path}/enable`, undefined, headers);
    expect([off, first, repeated].map(({ status, body }) => [status, body['status']])).toEqual([
      [200, 'disabled'],
      [200, 'active'],
      [200, 'active'],
    ]);
  });

  test('agents and clones', async () => {
    const org = await harness.newOrg();
    const first = await post(org, '/agents/api/agents', definitionWith([VARIABLES]), 'one');
    const clone = await post(org, `/agents/api/agents/${text(first.body['id'])}/clone`, { name: 'Copy' }, 'one');
    const template = list((await org.call('GET', '/agents/api/templates')).body['templates'])[0];
    const from = await post(org, `/agents/api/templates/${text(template?.['id'])}/clone`, {}, 'one');
    await forgetAnswers(org);
    const again = [
      await post(org, '/agents/api/agents', definitionWith([VARIABLES]), 'one'),
      await post(org, `/agents/api/agents/${text(first.body['id'])}/clone`, { name: 'Copy' }, 'one'),
      await post(org, `/agents/api/templates/${text(template?.['id'])}/clone`, {}, 'one'),
    ];
    const ids = (answers: Answer[]) => answers.map((answer) => [answer.status, text(answer.body['id'])]);
    expect(ids(again)).toEqual(ids([first, clone, from]));
    const agents = list((await org.call('GET', '/agents/api/agents?type=custom')).body['agents']);
    expect(agents).toHaveLength(1);
  });

  test('an event: published once, and told as new', async () => {
    const org = await harness.newOrg();
    await activeAgent(org, definitionWith([VARIABLES]));
    const event = { event_type: 'custom.test', source_product: 'psa', payload: { name: 'Ada' } };
    const first = await post(org, '/agents/api/events/ingest', event, 'one');
    await forgetAnswers(org);
    const second = await post(org, '/agents/api/events/ingest', event, 'one');
    expect([second.status, second.text]).toEqual([202, first.text]);
    expect(list((await org.call('GET', '/agents/api/executions')).body['executions'])).toHaveLength(1);
  });

  test('a retry of an execution', async () => {
    const org = await harness.newOrg();
    await activeAgent(org, definitionWith([{ type: 'approval_gate', id: 'gate', message: 'Go on?' }]));
    const execution = await run(org);
    await org.call('POST', `/agents/api/executions/${execution}/cancel`);
    const path = `/agents/api/executions/${execution}/retry`;
    const first = await post(org, path, undefined, 'one');
    await forgetAnswers(org);
    const second = await post(org, path, undefined, 'one');
    expect([first.status, second.status]).toEqual([202, 202]);
    expect(second.body['id']).toBe(first.body['id']);
  });
});

describe('API keys, whose secret is shown once', () => {
  const KEYS = '/console/api/api-keys';
  const draft = { kind: 'platform', name: 'For the robot', scopes: ['PSA'] };

  async function owner(org: TestOrg) {
    const context = testContext(harness.store, { config: readConfig(harness.address.env) });
    const { cookie, csrfToken } = await signIn(context, org.id);
    return (method: string, path: string, body: unknown, more: Record<string, string> = {}) =>
      request(harness.address.baseUrl, { method, path, body, headers: { cookie, 'x-csrf-token': csrfToken, ...more } });
  }
  const works = async (key: string): Promise<number> =>
    (
      await request(harness.address.baseUrl, {
        method: 'GET',
        path: TICKETS,
        headers: { authorization: `Bearer ${key}` },
      })
    ).status;

  test('a replay says that the key was shown, and no secret is stored', async () => {
    const org = await harness.newOrg();
    const call = await owner(org);
    const first = await call('POST', KEYS, draft, keyed('one'));
    const second = await call('POST', KEYS, draft, keyed('one'));
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.body).toEqual({ ...first.body, key: null, keyShown: true });
    const stored = await records()
      .find({ _id: { $regex: `^${org.id}:` } } as never)
      .toArray();
    expect(JSON.stringify(stored)).not.toContain(text(first.body['key']));
    expect(await works(text(first.body['key']))).toBe(200);
  });

  test('a key that its request died before showing gets another secret; one key, and it works', async () => {
    const org = await harness.newOrg();
    const call = await owner(org);
    const first = await call('POST', KEYS, draft, keyed('one'));
    await forgetAnswers(org);
    const second = await call('POST', KEYS, draft, keyed('one'));
    expect([second.status, text(second.body['id'])]).toEqual([201, text(first.body['id'])]);
    expect(await works(text(second.body['key']))).toBe(200);
    expect(await works(text(first.body['key']))).toBe(401);
  });

  test('scopes that are taken away are gone when a repeat is answered, also if the first run told nobody', async () => {
    const org = await harness.newOrg();
    const call = await owner(org);
    const wide = { ...draft, scopes: ['PSA', 'CRM'] };
    const { body: made } = await call('POST', KEYS, wide);
    const narrow = () => call('PATCH', `${KEYS}/${text(made['id'])}`, { scopes: ['CRM'] }, keyed('narrow'));
    await narrow();
    await forgetAnswers(org);
    const write = (scopes: string[]) =>
      harness.store.connection
        .collection('api_keys')
        .updateOne({ _id: made['id'] } as never, { $set: { scopes }, $inc: { version: 1 } });
    // As it was before, known to the API; then a run that died between its write and telling everybody.
    await write(wide.scopes);
    await raiseEpoch(harness.store, org.id);
    expect(await works(text(made['key']))).toBe(200);
    await write(['CRM']);
    expect((await narrow()).status).toBe(200);
    expect(await works(text(made['key']))).toBe(403);
  });

  test('a rotation and a change with If-Match are made once', async () => {
    const org = await harness.newOrg();
    const call = await owner(org);
    const made = await call('POST', KEYS, draft);
    const path = `${KEYS}/${text(made.body['id'])}`;
    const match = { 'if-match': made.headers.get('etag') ?? '' };
    const renamed = await call('PATCH', path, { name: 'Renamed' }, keyed('name', match));
    await forgetAnswers(org);
    const again = await call('PATCH', path, { name: 'Renamed' }, keyed('name', match));
    expect([renamed.status, again.status, again.body['version']]).toEqual([200, 200, renamed.body['version']]);
    const current = { 'if-match': again.headers.get('etag') ?? '' };
    // Without an overlap the old key has expired by the time the request is repeated.
    const rotated = await call('POST', `${path}/rotate`, { overlapSeconds: 0 }, keyed('rotate', current));
    await forgetAnswers(org);
    const repeated = await call('POST', `${path}/rotate`, { overlapSeconds: 0 }, keyed('rotate', current));
    expect([rotated.status, repeated.status]).toEqual([201, 201]);
    expect(repeated.body['id']).toBe(rotated.body['id']);
  });
});

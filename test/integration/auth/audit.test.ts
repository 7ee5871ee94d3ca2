/** The audit trail over HTTP: every audited action leaves one entry, and no row can be touched unseen. */
import { readConfig } from '../../../src/config';
import { workflowIdOf } from '../../../src/contracts/messages';
import { connectEngine, type Engine } from '../../../src/engine/connect';
import { hashPassword } from '../../../src/domain/password';
import { appendAudit, auditEntries, auditFrom } from '../../../src/store/audit';
import { followChain, GENESIS, hashOf } from '../../../src/domain/audit';
import { newId } from '../../../src/domain/ids';
import { decide } from '../../../src/store/approvals';
import { audit } from '../../../src/store/audit-trail';
import { createLog } from '../../../src/log';
import { openStore } from '../../../src/store/connect';
import { findKey } from '../../../src/store/keys';
import { changeUser } from '../../../src/store/users';
import { definitionWith, GATE, openGateOf, run } from '../../support/agents';
import {
  joinStack,
  list,
  request,
  SUITE_ADDRESS,
  text,
  waitFor,
  waitForExecution,
  type Answer,
  type Body,
  type Harness,
  type TestOrg,
} from '../../support/harness';
import { newKey, newUser, openTestStore, signIn, testContext, type SignedIn } from './support';

const PASSWORD = 'correct horse battery staple';
const LOG = '/console/api/audit-log';

let harness: Harness;
let engine: Engine;
let passwordHash: string;

beforeAll(async () => {
  harness = joinStack();
  engine = connectEngine(readConfig(harness.address.env).temporal);
  passwordHash = await hashPassword(PASSWORD);
});
afterAll(async () => {
  await engine.close();
  await harness.close();
});

type Caller = (method: string, path: string, body?: unknown) => Promise<Answer>;

const inStack = () => testContext(harness.store, { config: readConfig(harness.address.env) });

const as =
  ({ cookie, csrfToken }: Pick<SignedIn, 'cookie' | 'csrfToken'>): Caller =>
  (method, path, body) =>
    request(harness.address.baseUrl, { method, path, body, headers: { cookie, 'x-csrf-token': csrfToken } });

async function ownerOf(org: TestOrg): Promise<SignedIn & { call: Caller }> {
  const signedIn = await signIn(inStack(), org.id);
  return { ...signedIn, call: as(signedIn) };
}

async function entriesOf(call: Caller, query = ''): Promise<Body[]> {
  const answer = await call('GET', `${LOG}?limit=200${query}`);
  if (answer.status !== 200) throw new Error(`no audit log: ${answer.text}`);
  return list(answer.body['items']);
}

const verified = async (call: Caller, query = ''): Promise<Body> =>
  (await call('GET', `${LOG}/verification${query}`)).body;

/** Actions in the order of the chain. */
const actionsIn = (entries: Body[]): string[] => entries.map((entry) => text(entry['action'])).toReversed();

const entryWith = (entries: Body[], action: string): Body => {
  const found = entries.filter((entry) => text(entry['action']) === action);
  if (found.length !== 1) throw new Error(`${found.length} entries of ${action}`);
  return found[0] ?? {};
};

async function ok(answer: Promise<Answer>): Promise<Answer> {
  const answered = await answer;
  if (answered.status >= 300) throw new Error(`${answered.status} ${answered.text}`);
  return answered;
}

const agents = '/agents/api/agents';
const VARIABLES = { type: 'set_variables', id: 'vars', values: { one: '1' } };

async function gatedAgent(call: Caller): Promise<string> {
  const created = await ok(call('POST', agents, definitionWith([GATE, VARIABLES])));
  const id = text(created.body['id']);
  await ok(call('PUT', `${agents}/${id}`, { status: 'active' }));
  return id;
}

describe('what is recorded', () => {
  test('the life of a key, without a word of the key', async () => {
    const org = await harness.newOrg();
    const { user, call } = await ownerOf(org);
    const keys = '/console/api/api-keys';
    const created = await ok(call('POST', keys, { kind: 'platform', name: 'Sync', scopes: ['PSA'] }));
    const id = text(created.body['id']);
    await ok(call('PATCH', `${keys}/${id}`, { name: 'Sync 2', scopes: ['PSA'] }));
    const rotated = await ok(call('POST', `${keys}/${id}/rotate`, { overlapSeconds: 60 }));
    const successor = text(rotated.body['id']);
    for (let time = 0; time < 2; time += 1) await ok(call('DELETE', `${keys}/${successor}`));
    const entries = await entriesOf(call);
    const actor = { kind: 'user', id: user._id, label: user.email, ip: null };
    expect(entries.toReversed()).toMatchObject([
      { sequence: 1, action: 'api_key.created', target: { kind: 'api_key', id, name: 'Sync' }, actor },
      { sequence: 2, action: 'api_key.updated', target: { id, name: 'Sync 2' }, details: { fields: ['name'] }, actor },
      { sequence: 3, action: 'api_key.rotated', target: { id }, details: { successorId: successor }, actor },
      { sequence: 4, action: 'api_key.revoked', target: { id: successor }, actor },
    ]);
    expect(text(entryWith(entries, 'api_key.created')['requestId'])).toBe(created.headers.get('x-request-id'));
    const trail = JSON.stringify(await auditEntries.in(harness.store).find({ orgId: org.id }).lean());
    for (const { body } of [created, rotated]) {
      expect(trail).not.toContain(text(body['key']));
      expect(trail).not.toContain((await findKey(harness.store, org.id, text(body['id'])))?.hash);
    }
    expect(trail).not.toMatch(/plat_|last4|maskedKey/);
  });

  test('the version of the APIs that a key is moved to', async () => {
    const org = await harness.newOrg();
    const { call } = await ownerOf(org);
    const keys = '/console/api/api-keys';
    const { body } = await ok(call('POST', keys, { kind: 'platform', name: 'Sync', scopes: ['PSA'] }));
    const stored = harness.store.connection.collection('api_keys');
    await stored.updateOne({ _id: body['id'] } as never, { $set: { apiVersion: '2026-01-01' } });
    await ok(call('PATCH', `${keys}/${text(body['id'])}`, { apiVersion: '2026-11-20' }));
    expect(entryWith(await entriesOf(call), 'api_key.updated')).toMatchObject({
      details: { fields: ['apiVersion'], apiVersion: '2026-11-20' },
    });
  });

  test('the life of an agent, with the fields that changed and who changed them', async () => {
    const org = await harness.newOrg();
    const { user, call } = await ownerOf(org);
    const created = await ok(org.call('POST', agents, definitionWith([VARIABLES])));
    const id = text(created.body['id']);
    await ok(call('PUT', `${agents}/${id}`, { name: 'Renamed', priority: 0 }));
    await ok(call('PUT', `${agents}/${id}`, { status: 'active', priority: 3 }));
    await ok(call('PUT', `${agents}/${id}`, { status: 'paused' }));
    const clone = await ok(call('POST', `${agents}/${id}/clone`, {}));
    await ok(call('DELETE', `${agents}/${id}`));
    const target = { kind: 'agent', id, name: 'Renamed' };
    const actor = { kind: 'user', id: user._id, label: user.email };
    expect((await entriesOf(call)).toReversed()).toMatchObject([
      { action: 'agent.created', target: { id, name: 'Test agent' }, actor: { kind: 'api_key', label: 'test' } },
      { action: 'agent.updated', target, actor, details: { fields: ['name'], version: 2 } },
      {
        action: 'agent.activated',
        target,
        actor,
        details: { fields: ['priority', 'status'], from: 'draft', to: 'active' },
      },
      { action: 'agent.paused', target, actor, details: { fields: ['status'], from: 'active', to: 'paused' } },
      { action: 'agent.created', target: { id: text(clone.body['id']) }, details: { type: 'cloned', source: { id } } },
      { action: 'agent.deleted', target, actor },
    ]);
  });

  test('templates that are cloned and system agents that are paused; refusals leave nothing', async () => {
    const org = await harness.newOrg();
    const { call } = await ownerOf(org);
    const [template] = list((await call('GET', '/agents/api/templates')).body['templates']);
    await ok(call('POST', `/agents/api/templates/${text(template?.['id'])}/clone`, {}));
    const [system] = list((await call('GET', `${agents}?type=system`)).body['agents']);
    const id = text(system?.['id']);
    await ok(call('PUT', `${agents}/${id}`, { status: 'paused' }));
    await ok(call('PUT', `${agents}/${id}`, { status: 'active' }));
    expect((await call('PUT', `${agents}/${id}`, { name: 'Mine' })).status).toBe(403);
    expect((await call('DELETE', `${agents}/agt_00000000000000000000000000`)).status).toBe(404);
    expect((await call('POST', agents, { name: 'nothing else' })).status).toBe(400);
    const entries = await entriesOf(call);
    expect(actionsIn(entries)).toEqual(['agent.created', 'system_agent.paused', 'system_agent.activated']);
    expect(entryWith(entries, 'system_agent.paused')).toMatchObject({ target: { kind: 'agent', id } });
  });

  test('decisions by people, keys, operators and the system; cancels and retries', async () => {
    const org = await harness.newOrg();
    const { user, call } = await ownerOf(org);
    const agentId = await gatedAgent(call);
    const decideAs = (caller: Caller, gate: Body, decision: string) =>
      ok(caller('POST', `/agents/api/approvals/${text(gate['id'])}/decision`, { decision, note: 'a secret reason' }));
    const atGate = async () => {
      const id = await run(org);
      return { id, gate: await openGateOf(org, id) };
    };
    const byPerson = await atGate();
    for (let time = 0; time < 2; time += 1) await decideAs(call, byPerson.gate, 'approved');
    const byKey = await atGate();
    await decideAs((...args) => org.call(...args), byKey.gate, 'denied');
    const byOperator = await atGate();
    const handle = engine.client.workflow.getHandle(workflowIdOf(byOperator.id));
    await handle.signal('approvalDecision', { decision: 'approved' });
    const bySystem = await atGate();
    for (let time = 0; time < 2; time += 1) await ok(call('POST', `/agents/api/executions/${bySystem.id}/cancel`));
    await waitForExecution(org, byPerson.id, ['completed']);
    await waitForExecution(org, byKey.id, ['cancelled']);
    await waitForExecution(org, byOperator.id, ['completed']);
    const retried = await ok(call('POST', `/agents/api/executions/${bySystem.id}/retry`));

    const entries = await entriesOf(call);
    const decisionOn = ({ gate }: { gate: Body }): Body[] =>
      entries.filter((entry) => text(entry['target']?.['id']) === text(gate['id']));
    const decided = (via: string, executionId: string) => ({ via, executionId, agentId, stepId: 'gate' });
    expect(decisionOn(byPerson)).toMatchObject([
      {
        action: 'approval.approved',
        actor: { kind: 'user', id: user._id, label: user.email },
        details: decided('console', byPerson.id),
        requestId: expect.stringMatching(/^req_/) as unknown,
      },
    ]);
    expect(decisionOn(byKey)).toMatchObject([
      { action: 'approval.denied', actor: { kind: 'api_key' }, details: decided('api', byKey.id) },
    ]);
    expect(decisionOn(byOperator)).toMatchObject([
      {
        action: 'approval.approved',
        actor: { kind: 'operator', id: 'temporal:operator' },
        details: decided('temporal', byOperator.id),
        requestId: null,
      },
    ]);
    expect(decisionOn(bySystem)).toMatchObject([
      { action: 'approval.denied', actor: { kind: 'system' }, details: decided('system', bySystem.id) },
    ]);
    expect(entryWith(entries, 'execution.cancelled')).toMatchObject({
      target: { kind: 'execution', id: bySystem.id },
      actor: { id: user._id },
    });
    expect(entryWith(entries, 'execution.retried')).toMatchObject({
      target: { kind: 'execution', id: bySystem.id },
      details: { retryId: text(retried.body['id']) },
    });
    expect(JSON.stringify(entries)).not.toContain('a secret reason');
    expect(await verified(call)).toMatchObject({ isIntact: true, checked: entries.length });
  });

  test('a decision whose process died before it wrote the entry is recorded before the execution goes on', async () => {
    const org = await harness.newOrg();
    const { user, call } = await ownerOf(org);
    await gatedAgent(call);
    const id = await run(org);
    const gate = text((await openGateOf(org, id))['id']);
    const decision = { id: gate, orgId: org.id, decision: 'approved', via: 'console', note: null } as const;
    await decide(harness.store, { ...decision, by: user._id, now: new Date() });
    const handle = engine.client.workflow.getHandle(workflowIdOf(id));
    await handle.signal('approvalDecision', { approval_id: gate, decision: 'approved' });
    await waitForExecution(org, id, ['completed']);
    expect(entryWith(await entriesOf(call), 'approval.approved')).toMatchObject({
      actor: { kind: 'user', id: user._id, label: null },
      target: { id: gate },
      requestId: null,
    });
  });

  test('an entry that cannot be written is in the log as a whole, and the caller is told', async () => {
    const away = await openTestStore();
    await away.close();
    const lines: string[] = [];
    const context = { ...inStack(), store: away, log: createLog('error', (line) => lines.push(line)) };
    const principal = { kind: 'key', id: 'key_1', keyId: 'key_1', name: 'key', orgId: 'org_1', scopes: [] } as const;
    const asked = {
      context,
      requestId: 'req_1',
      principal: { ...principal, tier: 'standard', keyTier: 'standard', apiVersion: '2026-11-20' } as const,
    };
    const deed = { action: 'agent.deleted', target: { kind: 'agent', id: 'agt_1', name: 'Gone' } } as const;
    await expect(audit(asked, deed)).rejects.toThrow();
    const entry = { ...deed, tenantId: 'org_1', actor: { kind: 'api_key', id: 'key_1' }, requestId: 'req_1' };
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ msg: 'audit entry not written', entry }]);
  });

  test('signing in, failing to and signing out, with the address', async () => {
    const org = await harness.newOrg();
    const { call } = await ownerOf(org);
    const user = await newUser(harness.store, org.id, { passwordHash });
    const attempt = (email: string, password: string) =>
      request(harness.address.baseUrl, {
        method: 'POST',
        path: '/console/api/session',
        body: { email, password },
      });
    expect((await attempt(user.email, 'a wrong password')).status).toBe(401);
    expect((await attempt('nobody@test.example', PASSWORD)).status).toBe(401);
    await waitFor(async () => (await entriesOf(call)).length === 1);
    const opened = await ok(attempt(user.email.toUpperCase(), PASSWORD));
    const cookie = (opened.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';
    await ok(as({ cookie, csrfToken: text(opened.body['csrfToken']) })('DELETE', '/console/api/session'));
    await changeUser(harness.store, user, { disabledAt: new Date() });
    expect((await attempt(user.email, PASSWORD)).status).toBe(401);
    await waitFor(async () => (await entriesOf(call)).length === 4);

    const entries = (await entriesOf(call)).toReversed();
    const anonymous = { kind: 'anonymous', id: `ip:${SUITE_ADDRESS}`, label: null, ip: SUITE_ADDRESS };
    const failed = { action: 'session.sign_in_failed', actor: anonymous };
    const target = { kind: 'user', id: user._id, name: user.email };
    expect(entries).toMatchObject([
      { ...failed, target, details: { reason: 'password' } },
      {
        action: 'session.signed_in',
        actor: { kind: 'user', id: user._id, label: user.email, ip: SUITE_ADDRESS },
        target: { kind: 'session' },
      },
      { action: 'session.signed_out', actor: { kind: 'user', id: user._id }, target: entries[1]?.['target'] },
      { ...failed, target, details: { reason: 'disabled' } },
    ]);
    const trail = JSON.stringify(entries);
    for (const secret of [PASSWORD, 'a wrong password', passwordHash, cookie]) expect(trail).not.toContain(secret);
  });
});

describe('GET /console/api/audit-log', () => {
  test('filters by action, actor, target and time, and pages newest first without gaps or repeats', async () => {
    const org = await harness.newOrg();
    const { user, call } = await ownerOf(org);
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      ids.push(text((await ok(call('POST', agents, definitionWith([VARIABLES])))).body['id']));
    }
    await ok(org.call('PUT', `${agents}/${ids[0]}`, { name: 'By key' }));
    const entries = await entriesOf(call);
    const seen: number[] = [];
    let token = '';
    do {
      const { body } = await ok(call('GET', `${LOG}?limit=2${token && `&continuationToken=${token}`}`));
      expect([body['limit'], body['hasMore']]).toEqual([2, body['continuationToken'] !== null]);
      seen.push(...list(body['items']).map((entry) => Number(entry['sequence'])));
      token = encodeURIComponent(text(body['continuationToken']));
    } while (token);
    expect(seen).toEqual([6, 5, 4, 3, 2, 1]);
    const sequences = async (query: string) => (await entriesOf(call, query)).map((entry) => Number(entry['sequence']));
    expect(await sequences('&action=agent.updated')).toEqual([6]);
    expect(await sequences(`&actor=${user._id}`)).toEqual([5, 4, 3, 2, 1]);
    expect(await sequences(`&target=${ids[0]}`)).toEqual([6, 1]);
    const at = (index: number) => encodeURIComponent(text(entries[index]?.['at']));
    expect(await sequences(`&from=${at(0)}`)).toContain(6);
    expect(await sequences(`&to=${at(5)}`)).toContain(1);
    expect(await sequences('&to=2020-01-01T00:00:00.000Z')).toEqual([]);
    const { body: first } = await call('GET', `${LOG}?limit=1`);
    const foreign = `&continuationToken=${encodeURIComponent(text(first['continuationToken']))}`;
    const refused = await call('GET', `${LOG}?limit=1&action=agent.created${foreign}`);
    expect([refused.status, refused.body['code']]).toEqual([400, 'INVALID_CONTINUATION_TOKEN']);
    expect((await call('GET', `${LOG}?action=agent.exploded`)).status).toBe(400);
  });

  test('403 and 401: owners and admins only, and never a key', async () => {
    const org = await harness.newOrg();
    const { key } = await newKey(inStack(), org.id, { scopes: ['Console', 'Agents'] });
    for (const path of [LOG, `${LOG}/verification`]) {
      expect((await as(await signIn(inStack(), org.id, 'admin'))('GET', path)).status).toBe(200);
      for (const role of ['technician', 'approver', 'viewer'] as const) {
        const answer = await as(await signIn(inStack(), org.id, role))('GET', path);
        expect([answer.status, answer.body['details']]).toEqual([403, { required: ['audit:read'] }]);
      }
      const headers = { authorization: `Bearer ${key}` };
      const withKey = await request(harness.address.baseUrl, { method: 'GET', path, headers });
      expect([withKey.status, withKey.body['details']]).toEqual([403, { required: ['session'] }]);
      expect((await request(harness.address.baseUrl, { method: 'GET', path })).status).toBe(401);
    }
  });

  test('another tenant sees nothing of it', async () => {
    const org = await harness.newOrg();
    const { user, call } = await ownerOf(org);
    await ok(call('POST', agents, definitionWith([VARIABLES])));
    const stranger = await ownerOf(await harness.newOrg());
    expect(await entriesOf(stranger.call, `&actor=${user._id}`)).toEqual([]);
    expect(await verified(stranger.call)).toEqual({
      isIntact: true,
      checked: 0,
      head: null,
      firstBroken: null,
      nextSequence: null,
    });
    expect((await stranger.call('GET', `${LOG}/verification?fromSequence=2`)).status).toBe(404);
  });
});

describe('the chain', () => {
  test('an edited, a removed and a cut off row are named; what stands before them can still be verified', async () => {
    const org = await harness.newOrg();
    const { call } = await ownerOf(org);
    for (let count = 0; count < 5; count += 1) await ok(call('POST', agents, definitionWith([VARIABLES])));
    const [newest] = await entriesOf(call);
    const whole = await verified(call);
    expect(whole).toMatchObject({ isIntact: true, checked: 5, head: { sequence: 5, hash: newest?.['hash'] } });
    expect(await verified(call, '?fromSequence=4')).toMatchObject({ isIntact: true, checked: 2 });

    const rows = auditEntries.in(harness.store).collection;
    const third = await rows.findOne({ orgId: org.id, sequence: 3 });
    const edited = { ...third, actor: { kind: 'user', id: 'usr_somebody_else', label: null, ip: null } };
    await rows.replaceOne({ _id: third?._id as never }, edited);
    const broken = { isIntact: false, checked: 2, head: { sequence: 2 } };
    expect(await verified(call)).toMatchObject({ ...broken, firstBroken: { sequence: 3, reason: 'altered' } });
    // Whoever can write a row can hash it anew; the entry behind it tells.
    const [entry] = await auditFrom(harness.store, org.id, 3, 1);
    if (!entry) throw new Error('the third entry is gone');
    await rows.updateOne({ _id: third?._id as never }, { $set: { hash: hashOf(entry) } });
    const unlinked = { isIntact: false, checked: 3, head: { sequence: 3 } };
    expect(await verified(call)).toMatchObject({ ...unlinked, firstBroken: { sequence: 4, reason: 'unlinked' } });
    await rows.deleteOne({ _id: third?._id as never });
    expect(await verified(call)).toMatchObject({ ...broken, firstBroken: { sequence: 3, reason: 'missing' } });
    await rows.insertOne(third as never);
    expect(await verified(call)).toEqual(whole);
    await rows.deleteOne({ orgId: org.id, sequence: 5 });
    expect(await verified(call)).toMatchObject({ isIntact: false, firstBroken: { sequence: 5, reason: 'missing' } });
  });

  test('what is put before the first entry is not shown: it is in no chain', async () => {
    const org = await harness.newOrg();
    const { call } = await ownerOf(org);
    await ok(call('POST', agents, definitionWith([VARIABLES])));
    const rows = auditEntries.in(harness.store).collection;
    const first = await rows.findOne({ orgId: org.id, sequence: 1 });
    const put = { ...first, _id: `${org.id}:0`, id: 'aud_put', sequence: 0, action: 'approval.approved' };
    await rows.insertOne(put as never);
    expect((await entriesOf(call)).map(({ sequence }) => sequence)).toEqual([1]);
  });

  test('a hundred appends at once from two connections make one line, and repeats of a cause add nothing', async () => {
    const store = await openTestStore();
    const other = openStore(store.uri);
    const tenantId = newId('org');
    const draft = (id: string) => ({
      id,
      tenantId,
      at: new Date().toISOString(),
      actor: { kind: 'system' as const, id: 'test', label: null, ip: null },
      action: 'agent.created' as const,
      target: { kind: 'agent' as const, id, name: null },
      details: {},
      requestId: null,
    });
    try {
      const ids = Array.from({ length: 100 }, () => newId('aud'));
      await Promise.all(ids.map((id, index) => appendAudit(index % 2 ? store : other, draft(id))));
      const again = await Promise.all(ids.slice(0, 10).map((id) => appendAudit(store, draft(id))));
      const entries = await auditFrom(store, tenantId, 1, 200);
      expect(entries.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
      expect(entries.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
      expect(followChain(GENESIS, entries).fault).toBeNull();
      expect(again).toEqual(again.map(({ sequence }) => entries[sequence - 1]));
    } finally {
      await other.close();
      await store.close();
    }
  });
});

/** System agents: seen by every org, changed by none, paused by each for itself; and what clones are made of. */
import { systemAgents } from '../../../src/catalog/system-agents';
import { templates } from '../../../src/catalog/templates';
import { activeAgent, definitionWith, VARIABLES } from '../../support/agents';
import {
  joinStack,
  list,
  text,
  waitFor,
  waitForExecution,
  type Answer,
  type Harness,
  type TestOrg,
} from '../../support/harness';
import { expectRefusal, get, outcomeOf, post, put, remove } from './support';

let harness: Harness;
let org: TestOrg;
beforeAll(async () => {
  harness = joinStack();
  org = await harness.newOrg();
});
afterAll(() => harness.close());

const PAGER = 'agt_system_critical_alert';
const DETECTION = {
  event_type: 'detection.created',
  source_product: 'defend',
  payload: {
    severity: 'critical',
    action_taken: 'none',
    threat_name: 'Emotet',
    hostname: 'srv-1',
    category: 'malware',
  },
};
const pause = (of: TestOrg, id: string): Promise<Answer> => put(of, `/agents/${id}`, { status: 'paused' });
const everySystemAgent = systemAgents.map(({ id }) => [id] as const);

describe('what every org has', () => {
  test.each(everySystemAgent)('%s is read like any other agent, under the org system', async (id) => {
    const answer = await get(org, `/agents/${id}`);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ id, org_id: 'system', type: 'system', status: 'active' });
    const { body } = await get(org, '/agents?type=system');
    expect(list(body['agents']).filter((agent) => text(agent['id']) === id)).toEqual([answer.body]);
  });

  test('type=system lists exactly them, and every other type none of them', async () => {
    const { body } = await get(org, '/agents?type=system');
    expect(list(body['agents']).map((agent) => text(agent['id']))).toEqual(systemAgents.map(({ id }) => id));
    for (const type of ['custom', 'cloned', 'template'])
      expect((await get(org, `/agents?type=${type}`)).text).not.toContain('agt_system_');
  });

  test('a system agent runs for the org and its run is counted there alone', async () => {
    const [one, two] = await Promise.all([harness.newOrg(), harness.newOrg()]);
    const { body } = await post(one, '/events/ingest', DETECTION);
    const [started] = list(body['executions']);
    expect(text(started?.['agent_id'])).toBe(PAGER);
    await waitForExecution(one, text(started?.['id']), ['completed']);
    const runsOf = async (of: TestOrg): Promise<number> =>
      Number((await get(of, `/agents/${PAGER}`)).body['stats']?.['total_runs']);
    await waitFor(async () => (await runsOf(one)) === 1);
    expect(await runsOf(two)).toBe(0);
    expect((await get(two, `/executions?agent_id=${PAGER}`)).body['total']).toBe(0);
  });
});

describe('what no org can change', () => {
  const CHANGES: Record<string, unknown>[] = [
    { name: 'Ours now' },
    { description: '' },
    { steps: [VARIABLES] },
    { conditions: [] },
    { client_scope: 'internal' },
    { status: 'draft' },
    { status: 'error' },
    { name: 'Ours now', status: 'paused' },
    { status: 'active', priority: 1 },
    // What no agent takes is forbidden here, too, and not first asked to be right.
    {},
    { name: '' },
    { status: 'bogus' },
    { nonsense: 1 },
  ];
  test.each(everySystemAgent)('%s: PUT of anything but a pause and DELETE are 403', async (id) => {
    const before = (await get(org, `/agents/${id}`)).body;
    for (const change of CHANGES) expectRefusal(await put(org, `/agents/${id}`, change), 403, 'forbidden');
    expectRefusal(await remove(org, `/agents/${id}`), 403, 'forbidden');
    expect((await get(org, `/agents/${id}`)).body).toEqual(before);
  });
});

describe('pause', () => {
  test('holds for the calling org only, and resuming takes it back', async () => {
    const [one, two] = await Promise.all([harness.newOrg(), harness.newOrg()]);
    const paused = await pause(one, PAGER);
    expect([paused.status, paused.body]).toEqual([200, expect.objectContaining({ id: PAGER, status: 'paused' })]);
    expect((await get(one, `/agents/${PAGER}`)).body['status']).toBe('paused');
    expect((await get(two, `/agents/${PAGER}`)).body['status']).toBe('active');
    expect((await get(one, '/agents?type=system&status=paused')).body['total']).toBe(1);
    expect((await get(two, '/agents?status=paused')).body['total']).toBe(0);

    const [here, there] = await Promise.all([one, two].map((of) => post(of, '/events/ingest', DETECTION)));
    expect([here?.body['matched'], there?.body['matched']]).toEqual([0, 1]);
    expect(await outcomeOf(one, text(here?.body['event_id']), PAGER)).toMatchObject({ outcome: 'paused' });

    expect((await put(one, `/agents/${PAGER}`, { status: 'active' })).body['status']).toBe('active');
    expect((await post(one, '/events/ingest', DETECTION)).body['matched']).toBe(1);
  });

  test('again, or of all at once, is the same as once', async () => {
    const one = await harness.newOrg();
    const answers = await Promise.all([...systemAgents, ...systemAgents].map(({ id }) => pause(one, id)));
    expect(answers.every(({ status, body }) => status === 200 && text(body['status']) === 'paused')).toBe(true);
    expect((await get(one, '/agents?type=system&status=paused')).body['total']).toBe(systemAgents.length);
    for (const { id } of systemAgents) await put(one, `/agents/${id}`, { status: 'active' });
    expect((await get(one, '/agents?type=system&status=active')).body['total']).toBe(systemAgents.length);
  });

  test('takes If-Match like any change', async () => {
    const one = await harness.newOrg();
    const tag = (await get(one, `/agents/${PAGER}`)).headers.get('etag') ?? '';
    const change = { status: 'paused' };
    expectRefusal(await put(one, `/agents/${PAGER}`, change, { 'if-match': '"other"' }), 412, 'version_conflict');
    expect((await get(one, `/agents/${PAGER}`)).body['status']).toBe('active');
    expect((await put(one, `/agents/${PAGER}`, change, { 'if-match': tag })).status).toBe(200);
  });

  test('needs no place under the cap of active agents', async () => {
    const capped = await harness.newOrg({ agentLimit: 0 });
    expect((await pause(capped, PAGER)).status).toBe(200);
    expect((await put(capped, `/agents/${PAGER}`, { status: 'active' })).status).toBe(200);
  });
});

describe('clones', () => {
  test.each(['agents', 'templates'])('of a system agent, by /api/%s/:id/clone, are drafts of the org', async (path) => {
    for (const { id, version, definition } of systemAgents) {
      const answer = await post(org, `/${path}/${id}/clone`, {});
      expect(answer.status).toBe(201);
      expect(answer.body).toMatchObject({
        ...definition,
        org_id: org.id,
        type: 'cloned',
        status: 'draft',
        source: { kind: 'agent', id, version: String(version) },
      });
      const clone = `/agents/${text(answer.body['id'])}`;
      expect((await put(org, clone, { name: 'Changed', status: 'active' })).status).toBe(200);
      expect((await remove(org, clone)).status).toBe(204);
    }
  });

  test('of an own agent are drafts whatever its status, and live their own life', async () => {
    const id = await activeAgent(org, definitionWith([VARIABLES], { description: 'The first' }));
    const clone = (await post(org, `/agents/${id}/clone`, { name: 'The second' })).body;
    expect(clone).toMatchObject({ name: 'The second', description: 'The first', status: 'draft', type: 'cloned' });
    expect(text(clone['id'])).not.toBe(id);
    await put(org, `/agents/${id}`, { description: 'Changed' });
    expect((await get(org, `/agents/${text(clone['id'])}`)).body['description']).toBe('The first');
    await remove(org, `/agents/${id}`);
    expect((await get(org, `/agents/${text(clone['id'])}`)).status).toBe(200);
  });

  test('take a name of 1 to 120 characters and nothing else', async () => {
    const [{ id } = { id: '' }] = templates;
    for (const path of [`/templates/${id}/clone`, `/agents/${PAGER}/clone`]) {
      for (const body of [{ name: '' }, { name: 'x'.repeat(121) }, { name: 5 }, { name: null }, { title: 'x' }])
        expectRefusal(await post(org, path, body), 400, 'validation_error');
      expect((await post(org, path, { name: 'x'.repeat(120) })).status).toBe(201);
    }
  });

  test('of a template do not change the template', async () => {
    const before = (await get(org, '/templates')).body;
    const clone = (await post(org, `/templates/${templates[0]?.id ?? ''}/clone`, { name: 'Ours' })).body;
    await put(org, `/agents/${text(clone['id'])}`, {
      description: 'Changed',
      steps: [VARIABLES].map((step) => ({ ...step, values: { a: 1 } })),
    });
    expect((await get(org, '/templates')).body).toEqual(before);
  });
});

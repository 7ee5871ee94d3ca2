/** Event intake: each event once, in either shape, under a type that exists. */
import { executions } from '../../../src/store/executions';
import { activeAgent, definitionWith, VARIABLES } from '../../support/agents';
import {
  joinStack,
  list,
  text,
  waitForExecution,
  type Answer,
  type Harness,
  type TestOrg,
} from '../../support/harness';
import { expectRefusal, findingsOf, get, ISO, like, post } from './support';

let harness: Harness;
let org: TestOrg;
beforeAll(async () => {
  harness = joinStack();
  org = await harness.newOrg();
});
afterAll(() => harness.close());

type Fields = Record<string, unknown>;

const EVENT = { event_type: 'custom.test', source_product: 'psa', payload: { name: 'Ada' } };
const ingest = (body: unknown, sender: TestOrg = org): Promise<Answer> => post(sender, '/events/ingest', body);
const logOf = async (eventId: string): Promise<Answer> => get(org, `/event-log/${eventId}`);

describe('once', () => {
  test('the same event five times at once starts each matching agent exactly once', async () => {
    for (let round = 0; round < 3; round += 1) {
      const sender = await harness.newOrg();
      const agents = await Promise.all([1, 2, 3].map(() => activeAgent(sender, definitionWith([VARIABLES]))));
      const event = { ...EVENT, id: `evt-${round}` };
      const answers = await Promise.all(Array.from({ length: 5 }, () => ingest(event, sender)));
      expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
        200, 200, 200, 200, 202,
      ]);
      const [first] = answers;
      for (const { status, body } of answers) {
        expect(body).toEqual({ ...first?.body, duplicate: status === 200 });
        expect(
          list(body['executions'])
            .map((one) => text(one['agent_id']))
            .toSorted(),
        ).toEqual(agents.toSorted());
      }
      for (const { id } of list(first?.body['executions'])) await waitForExecution(sender, text(id), ['completed']);
      expect((await get(sender, '/executions')).body['total']).toBe(3);
      expect(await executions.in(harness.store).countDocuments({ org_id: sender.id })).toBe(3);
    }
  });

  test('an id stays taken whatever comes with it, and an agent made later is not started by it', async () => {
    const sender = await harness.newOrg();
    const first = await ingest({ ...EVENT, id: 'only-once' }, sender);
    expect([first.status, first.body['matched']]).toEqual([202, 0]);
    await activeAgent(sender, definitionWith([VARIABLES]));
    const again = await ingest({ ...EVENT, id: 'only-once', payload: { name: 'Bob' } }, sender);
    expect([again.status, again.body]).toEqual([
      200,
      { event_id: 'only-once', duplicate: true, matched: 0, executions: [] },
    ]);
    expect((await get(sender, '/event-log/only-once')).body).toMatchObject({ payload: { name: 'Ada' }, outcomes: [] });
  });

  test('without an id every event is another', async () => {
    const answers = await Promise.all([ingest(EVENT), ingest(EVENT)]);
    expect(answers.map(({ status }) => status)).toEqual([202, 202]);
    expect(new Set(answers.map(({ body }) => text(body['event_id']))).size).toBe(2);
  });
});

describe('CloudEvents 1.0', () => {
  const CLOUD = { specversion: '1.0', source: '/psa', data: { priority: 'high', name: 'Ada' } };
  const shapes: [string, Fields, Fields][] = [
    [
      'the product before the type',
      { type: 'psa.ticket.created' },
      { event_type: 'ticket.created', source_product: 'psa' },
    ],
    ['the product in the source', { type: 'ticket.created' }, { event_type: 'ticket.created', source_product: 'psa' }],
    [
      'a source with a path before the product',
      { type: 'device.offline', source: 'https://rmm.example.com/tenants/7/rmm' },
      { event_type: 'device.offline', source_product: 'rmm' },
    ],
    ['a type of one’s own', { type: 'psa.custom.test' }, { event_type: 'custom.test', source_product: 'psa' }],
    [
      'a time',
      { type: 'psa.ticket.created', time: '2026-11-20T10:00:00+01:00' },
      { occurred_at: '2026-11-20T09:00:00.000Z' },
    ],
    ['a client', { type: 'psa.ticket.created', clientid: 'cli_7' }, { client_id: 'cli_7' }],
    [
      'other attributes',
      { type: 'psa.ticket.created', subject: 'T-1', datacontenttype: 'application/json', traceparent: '00-1-2-03' },
      {},
    ],
  ];
  test.each(shapes)('%s', async (what, attributes, expected) => {
    const id = `cloud-${what.replaceAll(/[^a-z]/g, '-')}`;
    const answer = await ingest({ ...CLOUD, ...attributes, id });
    expect([answer.status, answer.body['event_id'], answer.body['duplicate']]).toEqual([202, id, false]);
    expect((await logOf(id)).body).toMatchObject({ id, payload: CLOUD.data, received_at: ISO, ...expected });
    expect((await ingest({ ...CLOUD, ...attributes, id })).body).toMatchObject({ event_id: id, duplicate: true });
  });

  test('starts agents like any event, and its id is the one a native event has', async () => {
    const sender = await harness.newOrg();
    await activeAgent(sender, definitionWith([VARIABLES]));
    const answer = await ingest({ ...CLOUD, type: 'psa.custom.test', id: 'mixed' }, sender);
    const [execution] = list(answer.body['executions']);
    const done = await waitForExecution(sender, text(execution?.['id']), ['completed']);
    expect(done['trigger_event']).toEqual({
      id: 'mixed',
      event_type: 'custom.test',
      source_product: 'psa',
      payload: CLOUD.data,
    });
    expect((await ingest({ ...EVENT, id: 'mixed' }, sender)).status).toBe(200);
  });

  test('another version, no data, no id or a name that no event can have is refused', async () => {
    for (const [body, path] of [
      [{ ...CLOUD, id: '1', type: 'psa.ticket.created', specversion: '0.3' }, '/specversion'],
      [{ ...CLOUD, type: 'psa.ticket.created' }, '/id'],
      [{ ...CLOUD, id: '1', type: 'psa.ticket.created', data: 'text' }, '/data'],
      [{ ...CLOUD, id: '1', type: 'psa.ticket.created', time: 'noon' }, '/time'],
      [{ ...CLOUD, id: '1', type: 'psa.ticket.created', time: '9999-12-31T23:00:00-02:00' }, '/time'],
      [{ ...CLOUD, id: '1', type: 'custom.Door Opened' }, '/type'],
      [{ ...CLOUD, id: '1', type: `custom.${'x'.repeat(120)}` }, '/type'],
      [{ ...CLOUD, id: '1', type: 'custom.door_opened', source: 'https://example.com/Our Doors' }, '/source'],
      [{ ...CLOUD, id: '..', type: 'psa.ticket.created' }, '/id'],
    ] as const) {
      const answer = await ingest(body);
      expectRefusal(answer, 400, 'validation_error');
      expect(findingsOf(answer)).toEqual(expect.arrayContaining([expect.stringContaining(`${path} `)]));
    }
  });
});

describe('refused', () => {
  test.each([
    [{ event_type: 'ticket.creatd', source_product: 'psa' }, 'psa:ticket.created'],
    [{ event_type: 'device.offlin', source_product: 'rmm' }, 'rmm:device.offline'],
    [{ event_type: 'ticket.created', source_product: 'pas' }, 'psa:ticket.created'],
  ])('%j is not in the catalog; %s may have been meant', async (names, suggestion) => {
    const answer = await ingest({ ...names, payload: {} });
    expectRefusal(answer, 404, 'event_type_not_found');
    expect(answer.body['details']).toEqual([expect.objectContaining({ suggestion })]);
    expect(text(answer.body['message'])).toContain(suggestion);
  });

  test('nothing like it is not guessed, and nothing is stored', async () => {
    const answer = await ingest({ id: 'not-kept', event_type: 'zzz.qqq', source_product: 'xx', payload: {} });
    expectRefusal(answer, 404, 'event_type_not_found');
    expect(answer.text).not.toContain('did you mean');
    expectRefusal(await logOf('not-kept'), 404, 'event_not_found');
  });

  const BAD: [string, Fields, string][] = [
    ['no payload', { payload: undefined }, '/payload'],
    ['a payload that is a list', { payload: [] }, '/payload'],
    ['no type', { event_type: undefined }, '/event_type'],
    ['a type without a dot', { event_type: 'ticket' }, '/event_type'],
    ['a product with capitals', { source_product: 'PSA' }, '/source_product'],
    ['an id with a space', { id: 'a b' }, '/id'],
    ['an id of 129 characters', { id: 'x'.repeat(129) }, '/id'],
    ['a time that is none', { occurred_at: 'yesterday' }, '/occurred_at'],
    ['a client that is a number', { client_id: 7 }, '/client_id'],
    ['an unknown field', { paylod: {} }, '/paylod'],
  ];
  test.each(BAD)('%s', async (_what, fields, path) => {
    const answer = await ingest({ ...EVENT, ...fields });
    expectRefusal(answer, 400, 'validation_error');
    expect(findingsOf(answer)).toEqual(expect.arrayContaining([expect.stringContaining(`${path} `)]));
  });
});

describe('payloads', () => {
  const ODD: [string, string][] = [
    ['names that mean something to a database', '{"$set":{"$gt":1},"a.b":{"c.d":2},"_id":3,"":4}'],
    ['names that mean something to JavaScript', '{"constructor":1,"toString":2,"hasOwnProperty":3,"length":4}'],
    ['numbers of every kind', '{"a":0,"b":-1.5,"c":9007199254740991,"d":1e-7,"e":12345678901}'],
    ['text of every kind', '{"a":"\\u0000","b":"🙂é","c":"\\"\\\\\\n","d":"{{event_payload.a}}"}'],
    ['empty values', '{"a":null,"b":[],"c":{},"d":"","e":[null,[]]}'],
    ['nothing', '{}'],
  ];
  test.each(ODD)('%s are kept as they came', async (_what, payload) => {
    const sender = await harness.newOrg();
    const step = {
      type: 'set_variables',
      id: 'vars',
      values: { all: '{{event_payload}}', text: 'x {{json event_payload}}' },
    };
    await activeAgent(sender, definitionWith([step]));
    const answer = await ingest(`{"event_type":"custom.test","source_product":"psa","payload":${payload}}`, sender);
    expect(answer.status).toBe(202);
    const [execution] = list(answer.body['executions']);
    const done = await waitForExecution(sender, text(execution?.['id']), ['completed']);
    const sent: unknown = JSON.parse(payload);
    expect(done['trigger_event']?.['payload']).toEqual(sent);
    expect(list(done['steps'])[0]?.['output']).toEqual({ all: sent, text: `x ${JSON.stringify(sent)}` });
    expect((await get(sender, `/event-log/${text(answer.body['event_id'])}`)).body['payload']).toEqual(sent);
  });

  test('a member called __proto__ is a member like any other', async () => {
    const sender = await harness.newOrg();
    const payload = '{"__proto__":{"isAdmin":true},"name":"Ada"}';
    const rule = { field: 'event_payload.isAdmin', operator: 'not_exists' };
    await activeAgent(sender, definitionWith([VARIABLES], { conditions: [rule] }));
    const answer = await ingest(`{"event_type":"custom.test","source_product":"psa","payload":${payload}}`, sender);
    expect([answer.status, answer.body['matched']]).toEqual([202, 1]);
    const [execution] = list(answer.body['executions']);
    const done = await waitForExecution(sender, text(execution?.['id']), ['completed']);
    expect(list(done['steps'])[0]).toMatchObject({ output: { greeting: 'Hello Ada' } });
    expect(text(answer.body['event_id'])).toEqual(like(/^evt_/));
  });

  test('250 000 characters are taken', async () => {
    const sender = await harness.newOrg();
    await activeAgent(sender, definitionWith([VARIABLES]));
    const name = 'x'.repeat(250_000);
    const answer = await ingest({ ...EVENT, payload: { name } }, sender);
    const [execution] = list(answer.body['executions']);
    const done = await waitForExecution(sender, text(execution?.['id']), ['completed']);
    expect(list(done['steps'])[0]).toMatchObject({ output: { greeting: `Hello ${name}` } });
  });
});

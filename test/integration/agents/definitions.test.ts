/** A definition that could not run is never stored: the refusal points to the field and, where it can, says what was meant. */
import { joinStack, list, text, type Answer, type Body, type Harness, type TestOrg } from '../../support/harness';
import { GOOD, type BadDefinition } from './definition-parts';
import { MALFORMED } from './malformed-definitions';
import { MEANINGLESS } from './meaningless-definitions';
import { expectRefusal, findingsOf, get, post, put } from './support';

let harness: Harness;
let org: TestOrg;
let agent: Body;
let path: string;
beforeAll(async () => {
  harness = joinStack();
  org = await harness.newOrg();
  agent = (await post(org, '/agents', GOOD)).body;
  path = `/agents/${text(agent['id'])}`;
});
afterAll(() => harness.close());

const total = async (): Promise<number> => Number((await get(org, '/agents?type=custom')).body['total']);
const current = async (): Promise<Body> => (await get(org, path)).body;

/** The finding the case is about is there, first where it is the only fault. */
function expectFinding(answer: Answer, bad: BadDefinition): void {
  expectRefusal(answer, 400, 'invalid_agent_config');
  const finding = list(answer.body['details']).find((one) => text(one['path']) === bad.path);
  expect([findingsOf(answer), finding]).toEqual([
    expect.arrayContaining([expect.stringContaining(`${bad.path} ${bad.code ?? ''}`)]),
    {
      path: bad.path,
      code: bad.code ?? (expect.any(String) as unknown),
      message: expect.any(String) as unknown,
      ...(bad.suggestion === undefined ? {} : { suggestion: bad.suggestion }),
      ...(bad.suggestion === undefined && finding?.['suggestion'] ? { suggestion: finding['suggestion'] } : {}),
    },
  ]);
}

const cases = [...MALFORMED, ...MEANINGLESS].map((bad) => [bad.what, bad] as const);

test('there are as many cases as promised, each with a name of its own', () => {
  expect(new Set(cases.map(([what]) => what)).size).toBe(cases.length);
  expect(cases.length).toBeGreaterThanOrEqual(40);
});

describe('POST refuses, and stores nothing:', () => {
  test.each(cases)('%s', async (_what, bad) => {
    expectFinding(await post(org, '/agents', { ...GOOD, ...bad.fields }), bad);
  });
  test('nothing was stored', async () => {
    expect(await total()).toBe(1);
  });
});

describe('PUT refuses, and changes nothing:', () => {
  test.each(cases.filter(([, bad]) => !bad.createOnly))('%s', async (_what, bad) => {
    expectFinding(await put(org, path, bad.fields), bad);
  });
  test('the agent is what it was', async () => {
    expect(await current()).toEqual(agent);
  });
});

test('an active agent keeps running its good definition', async () => {
  const other = (await post(org, '/agents', GOOD)).body;
  const active = (await put(org, `/agents/${text(other['id'])}`, { status: 'active' })).body;
  for (const fields of [{ steps: [] }, { name: '' }, { trigger: { ...(GOOD['trigger'] as object), event_type: 'x' } }])
    expectRefusal(await put(org, `/agents/${text(other['id'])}`, fields), 400, 'invalid_agent_config');
  expect((await get(org, `/agents/${text(other['id'])}`)).body).toEqual(active);
});

test('every fault is reported at once', async () => {
  const answer = await post(org, '/agents', {
    ...GOOD,
    steps: [
      { type: 'notification', id: 'a', channel: 'email', recipients: ['nobody'], body: '{{event_payload.tite}}' },
      { type: 'delay', id: 'a', for: '40d' },
    ],
    client_ids: ['cli_1'],
  });
  expectRefusal(answer, 400, 'invalid_agent_config');
  expect(findingsOf(answer).toSorted()).toEqual([
    '/client_ids unexpected_client_ids',
    '/steps/0/body unknown_reference',
    '/steps/0/recipients/0 invalid_recipient',
    '/steps/1/for out_of_range',
    '/steps/1/id duplicate_step_id',
  ]);
  expect(answer.body['message']).toBe('5 problems in the definition.');
});

test('a single fault is told in the message, with what was meant', async () => {
  const trigger = { ...(GOOD['trigger'] as object), event_type: 'ticket.creatd' };
  const answer = await post(org, '/agents', { ...GOOD, trigger });
  expect(text(answer.body['message'])).toMatch(
    /^\/trigger\/event_type: .*ticket\.creatd.* Did you mean "ticket\.created"\?$/,
  );
});

test('an empty PUT, or one with an unknown status, is refused', async () => {
  expectRefusal(await put(org, path, {}), 400, 'invalid_agent_config');
  const answer = await put(org, path, { status: 'actve' });
  expectRefusal(answer, 400, 'invalid_agent_config');
  expect(answer.body['details']).toEqual([expect.objectContaining({ path: '/status', suggestion: 'active' })]);
});

test('what a JSON object cannot hold twice is taken as JSON takes it, and prototypes stay what they are', async () => {
  const body = JSON.stringify(GOOD).replace('{"name":"Good"', '{"__proto__":{"isAdmin":true},"name":"Good"');
  expectRefusal(await post(org, '/agents', body), 400, 'invalid_agent_config');
  const values =
    '{"type":"http_request","id":"c","url":"https://example.com/","body":{"__proto__":{"x":1},"$set":2,"a.b":3}}';
  const kept = await post(org, '/agents', JSON.stringify({ ...GOOD, steps: ['@'] }).replace('"@"', values));
  expect(kept.status).toBe(201);
  expect((await get(org, `/agents/${text(kept.body['id'])}`)).text).toContain('"$set":2,"a.b":3');
});

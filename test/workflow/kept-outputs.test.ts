/** What steps leave behind and what conditions see of it: kept, or refused for good with its reason, never tried for ever. */
import { activeAgent, definitionWith, run } from '../support/agents';
import { joinStack, list, text, waitForExecution, type Body, type Harness, type TestOrg } from '../support/harness';
import { startHttpServer, type HttpStandIn } from '../support/stand-ins/http-server';

let harness: Harness;
let server: HttpStandIn;
let org: TestOrg;

const nested = (levels: number): string => `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`;

/** Replies whose fields have names that cannot be stored. */
const UNSTORABLE: Record<string, string> = { '/nul': '{"a":[{"b\\u0000c":1}]}', '/driver': '{"_bsontype":"Long"}' };

/** Some 100 KiB as JSON: more than is kept of a reply. */
const LARGE = Array.from({ length: 10_000 }, (_unused, index) => `item ${index}`);

beforeAll(async () => {
  harness = joinStack();
  server = await startHttpServer(({ path }) => ({
    body:
      UNSTORABLE[path] ??
      (path === '/large' ? JSON.stringify({ items: LARGE }) : nested(Number(path.slice('/nested/'.length)))),
    headers: { 'content-type': 'application/json' },
  }));
});
beforeEach(async () => {
  org = await harness.newOrg();
});
afterAll(() => Promise.all([harness.close(), server.stop()]));

const VALUES = { type: 'set_variables', id: 'values', values: { done: true } };
const ENDS = ['completed', 'failed'];

async function outcome(steps: object[], payload: Record<string, unknown> = {}): Promise<Body> {
  await activeAgent(org, definitionWith(steps as Record<string, unknown>[]));
  return waitForExecution(org, await run(org, payload), ENDS);
}

const statuses = (execution: Body) => list(execution['steps']).map((step) => text(step['status']));

/** A value that is found below each of so many names, one in the other. */
function boxed(levels: number, value: unknown): Record<string, unknown> {
  let box: Record<string, unknown> = { value };
  for (let level = 1; level < levels; level += 1) box = { a: box };
  return box;
}

test.each([3_000, 20_000])(
  'a reply nested %i levels deep is kept as the text it came as, asked for once',
  async (levels) => {
    const path = `/nested/${levels}`;
    const done = await outcome([{ type: 'http_request', id: 'call', method: 'POST', url: `${server.url}${path}` }]);
    expect(text(done['status'])).toBe('completed');
    expect(list(done['steps'])[0]?.['output']).toMatchObject({ status: 200, body: nested(levels) });
    expect(server.requests.filter((request) => request.path === path)).toHaveLength(1);
  },
);

test('a reply within reason is data', async () => {
  const done = await outcome([{ type: 'http_request', id: 'call', url: `${server.url}/nested/20` }]);
  const output = list(done['steps'])[0]?.['output'];
  expect(output).toMatchObject({ body: JSON.parse(nested(20)) as object });
  expect(output).not.toHaveProperty('truncated');
});

test('a reply that is kept as its beginning says so, where later steps can ask', async () => {
  const when = { field: 'steps.call.output.truncated', operator: 'eq', value: true };
  const done = await outcome([
    { type: 'http_request', id: 'call', url: `${server.url}/large` },
    { ...VALUES, when },
  ]);
  expect(statuses(done)).toEqual(['completed', 'completed']);
  const output = list(done['steps'])[0]?.['output'];
  expect(output).toMatchObject({ status: 200, truncated: true });
  expect(text(output?.['body'])).toMatch(/^\{"items":\["item 0",.*…$/);
});

test('an execution whose conditions ask for a value and all that it is in starts', async () => {
  const names = Array.from({ length: 10 }, (_unused, index) => `event_payload${'.a'.repeat(index + 1)}`);
  const when = { all: names.map((field) => ({ field, operator: 'exists' })) };
  const done = await outcome([{ ...VALUES, when }], boxed(11, 'x'.repeat(240_000)));
  expect(statuses(done)).toEqual(['completed']);
});

test('so does one that asks it of variables, in the middle of its steps', async () => {
  const names = ['x', 'y'].flatMap((name) =>
    Array.from({ length: 10 }, (_unused, index) => `vars.${name}${'.a'.repeat(index)}`),
  );
  const when = { all: names.map((field) => ({ field, operator: 'exists' })) };
  const both = { type: 'set_variables', id: 'both', values: { x: '{{event_payload}}', y: '{{event_payload}}' } };
  const soon = { type: 'delay', id: 'soon', for: '1s' };
  const done = await outcome([both, soon, { ...VALUES, when }], boxed(10, 'x'.repeat(240_000)));
  expect(statuses(done)).toEqual(['completed', 'completed', 'completed']);
});

test('more than a workflow is told of ends the execution and says what to ask for instead', async () => {
  const rows = ['a', 'b', 'c'].map((name) => ({
    type: 'set_variables',
    id: name,
    values: { [name]: '{{event_payload}}' },
  }));
  const when = { all: ['vars.a', 'vars.b', 'vars.c'].map((field) => ({ field, operator: 'exists' })) };
  const done = await outcome([...rows, { ...VALUES, when }], { blob: 'x'.repeat(200_000) });
  expect(text(done['status'])).toBe('failed');
  expect(done['error']).toMatchObject({
    code: 'output_too_large',
    message: expect.stringMatching(/name the values they compare/) as string,
  });
});

test('outputs are measured as they are stored: many small numbers take several times their JSON', async () => {
  const payload = { numbers: Array.from({ length: 125_000 }, () => 1) };
  const done = await outcome([{ ...VALUES, values: { all: '{{event_payload.numbers}}' } }], payload);
  expect(text(done['status'])).toBe('failed');
  expect(done['error']).toMatchObject({ code: 'output_too_large' });
});

test('as many outputs as a record takes are kept, and the next one is refused', async () => {
  const steps = Array.from({ length: 20 }, (_unused, index) => ({
    type: 'set_variables',
    id: `s${index}`,
    values: { [`v${index}`]: '{{event_payload.numbers}}' },
  }));
  const done = await outcome(steps, { numbers: Array.from({ length: 40_000 }, () => 1) });
  expect(text(done['status'])).toBe('failed');
  expect(done['error']).toMatchObject({ code: 'output_too_large' });
  expect(statuses(done).filter((status) => status === 'completed').length).toBeGreaterThan(10);
});

test.each([
  ['/nul', '/body/a/0/b\\u0000c holds a NUL character, which cannot be stored'],
  ['/driver', '/body/_bsontype is "_bsontype", which the store keeps for itself'],
])('a reply with a field that cannot be stored (%s) says which one it is', async (path, what) => {
  const done = await outcome([{ type: 'http_request', id: 'call', url: `${server.url}${path}` }]);
  expect(text(done['status'])).toBe('failed');
  const message = `The output of step call cannot be stored: the name of its field ${what}.`;
  expect(done['error']).toEqual({ code: 'invalid_output', message });
});

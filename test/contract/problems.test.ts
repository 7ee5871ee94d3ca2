import { answerFor } from '../../src/http/problems';
import { problem, PROBLEMS, refuseFindings, type Finding, type ProblemCode } from '../../src/contracts/problem';
import { read } from '../architecture/source-tree';

const FOLDER = 'docs/reference/errors';
const REQUEST = 'req_01KAJ5Q3Z8M4T7V9X2B6C1D0EF';
const AGENT_SERVICE_ONLY = 'Only the agent service answers this code.';
const TEXT_MIN = 80;

type Body = Record<string, unknown>;

const codes = Object.keys(PROBLEMS) as ProblemCode[];
const pageOf = (code: ProblemCode): string => read(`${FOLDER}/${code}.md`);

const section = (page: string, heading: string): string =>
  page.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';

/** The example bodies of a page, by the heading line before each. */
function examplesOf(page: string): Map<string, Body> {
  const blocks = section(page, 'Example').matchAll(/^(.+):\n\n```json\n([\s\S]*?)\n```/gm);
  return new Map([...blocks].map(([, title = '', body = '']) => [title, JSON.parse(body) as Body]));
}

/** What the API would answer, without what only a real refusal knows. */
const answered = (code: ProblemCode, service: 'agents' | 'psa'): Body =>
  answerFor(problem(code), service, REQUEST).body;

describe.each(codes)('the page of %s', (code) => {
  const page = pageOf(code);

  test('has the code as its title and the catalogue’s sentence below it', () => {
    expect(page.startsWith(`# ${code}\n\n${PROBLEMS[code].text}\n`)).toBe(true);
  });

  test('says why it happens and what to do', () => {
    expect(section(page, 'Cause').length).toBeGreaterThan(TEXT_MIN);
    expect(section(page, 'How to fix it')).toMatch(/^- /m);
  });

  test('shows bodies as the API answers them', () => {
    const examples = examplesOf(page);
    const expected = page.includes(AGENT_SERVICE_ONLY)
      ? ['Agent service']
      : ['Agent service', 'Product, mail and console APIs'];
    expect([...examples.keys()]).toEqual(expected);
    for (const [title, body] of examples) {
      const real = answered(code, title === 'Agent service' ? 'agents' : 'psa');
      expect(Object.keys(body)).toEqual(expect.arrayContaining(Object.keys(real)));
      expect(body).toMatchObject(
        title === 'Agent service' && code !== 'rate_limited'
          ? { error: code, status: PROBLEMS[code].status, docs: `/docs/errors/${code}` }
          : { code: PROBLEMS[code].product },
      );
    }
  });
});

test('the index lists every code with its status and both spellings', () => {
  const index = read(`${FOLDER}/README.md`);
  const missing = codes.filter((code) => {
    const { status, product, text } = PROBLEMS[code];
    return !index.includes(`| ${status} | [\`${code}\`](${code}.md) | \`${product}\` | ${text} |`);
  });
  expect(missing).toEqual([]);
});

test('product codes are as unique as ours, so that each leads to one page', () => {
  const products = codes.map((code) => PROBLEMS[code].product);
  expect(products.filter((product, index) => products.indexOf(product) !== index)).toEqual([]);
});

test('statuses are those a client can act on', () => {
  expect(codes.filter((code) => PROBLEMS[code].status < 400 || PROBLEMS[code].status > 503)).toEqual([]);
});

const FINDING: Finding = { path: '/name', code: 'unknown_field', message: 'unknown field name', suggestion: 'title' };

const refusalOf = (...given: Parameters<typeof refuseFindings>): unknown => {
  try {
    refuseFindings(...given);
  } catch (error) {
    return error;
  }
  return null;
};

test('a refusal tells the only finding with what was meant, and counts several', () => {
  expect(refusalOf([], 'body')).toBeNull();
  expect(refusalOf([FINDING], 'body')).toMatchObject({
    code: 'validation_error',
    message: '/name: unknown field name; did you mean title?',
    findings: [FINDING],
  });
  expect(refusalOf([{ path: '', code: 'type', message: 'must be an object' }], 'body')).toMatchObject({
    message: 'body: must be an object',
  });
  expect(refusalOf([FINDING, FINDING], 'query', 'invalid_agent_config')).toMatchObject({
    code: 'invalid_agent_config',
    message: '2 problems in the query',
    findings: [FINDING, FINDING],
  });
});

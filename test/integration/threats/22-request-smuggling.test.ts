/** Threat 22, request smuggling and parameter pollution: what can be read in two ways is refused, not guessed. */
import { connect } from 'node:net';
import { joinStack, type Harness, type TestOrg } from '../../support/harness';
import { eachOf, everything, reachable, type Everything } from '../../support/operations';

let harness: Harness;
let all: Everything;
let org: TestOrg;
beforeAll(async () => {
  harness = joinStack();
  all = await everything(harness);
  org = await harness.newOrg();
});
afterAll(() => harness.close());

/** Sends bytes on a socket of its own and answers everything that came back until the other side closed. */
function exchange(bytes: string): Promise<string> {
  const { hostname, port } = new URL(harness.address.baseUrl);
  return new Promise((done, fail) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    let text = '';
    socket.on('data', (chunk) => (text += String(chunk)));
    socket.on('close', () => done(text));
    socket.on('error', fail);
    socket.setTimeout(10_000, () => socket.destroy(new Error(`still open after:\n${text}`)));
  });
}

const statusesIn = (text: string): string[] => [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => match[1] ?? '');

const lines = (...all_: string[]): string => `${all_.join('\r\n')}\r\n\r\n`;
const HIDDEN = 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n';

describe('two lengths', () => {
  test.each([
    ['Content-Length and Transfer-Encoding', ['Content-Length: 5', 'Transfer-Encoding: chunked']],
    ['Transfer-Encoding and Content-Length', ['Transfer-Encoding: chunked', 'Content-Length: 5']],
    ['two Content-Lengths', ['Content-Length: 5', `Content-Length: ${5 + HIDDEN.length}`]],
    ['a length that is no number', ['Content-Length: 5, 6']],
    ['an encoding that only looks like chunked', ['Transfer-Encoding: xchunked']],
    ['a blank before the colon', ['Transfer-Encoding : chunked']],
  ])('%s: 400, and what is hidden behind is not answered', async (_name, headers) => {
    const text = await exchange(
      `${lines('POST /psa/api/tickets HTTP/1.1', 'Host: a', `Authorization: Bearer ${org.key}`, ...headers)}0\r\n\r\n${HIDDEN}`,
    );
    expect(statusesIn(text)).toEqual(['400']);
  });
});

describe('two credentials', () => {
  const get = (...headers: string[]): Promise<string> =>
    exchange(lines('GET /psa/api/tickets HTTP/1.1', 'Host: a', 'Connection: close', ...headers));

  test('a header sent twice is refused, whatever the second says: 400', async () => {
    const other = await harness.newOrg();
    for (const name of ['Authorization: Bearer ', 'X-Integration-Key: ']) {
      for (const key of [org.key, other.key]) {
        const text = await get(`${name}${org.key}`, `${name}${key}`);
        expect([statusesIn(text), text]).toEqual([['400'], expect.stringContaining('sent more than once')]);
      }
    }
  });

  test('two headers that differ are refused: 401 AMBIGUOUS_CREDENTIALS', async () => {
    const other = await harness.newOrg();
    const text = await get(`Authorization: Bearer ${org.key}`, `X-Integration-Key: ${other.key}`);
    expect([statusesIn(text), text]).toEqual([['401'], expect.stringContaining('AMBIGUOUS_CREDENTIALS')]);
  });
});

test('a query parameter given twice: 400 from every operation that takes it', async () => {
  const faults: string[] = [];
  await eachOf(
    reachable.filter(({ query }) => query !== undefined),
    async (operation) => {
      const [name] = Object.keys((operation.query as unknown as { properties: object }).properties);
      const answer = await all.call(operation, { query: `?${name}=1&${name}=2` });
      if (answer.status !== 400 || !answer.text.includes('may be given once'))
        faults.push(`${operation.id} ${name}: ${answer.status}`);
    },
  );
  expect(faults).toEqual([]);
});

/** What the process said is written, whatever ends it, and secrets are not said. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { mintWebhookSecret } from '../../../src/domain/webhooks/signature';
import { createLog } from '../../../src/log';

const LOG = JSON.stringify(join(__dirname, '../../../src/log'));
const LINES = `const { createLog } = require(${LOG}); const log = createLog('info');
  log.info('first'); log.debug('never'); setImmediate(() => { log.warn('second'); log.error('third', { key: 'plat_abcdefgh' }); END });`;

/** The lines of a process that runs this. */
const linesOf = (script: string): Promise<Record<string, unknown>[]> =>
  new Promise((resolve) => {
    execFile(process.execPath, ['--import', 'tsx', '-e', script], (_error, output) =>
      resolve(
        output
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line) as Record<string, unknown>),
      ),
    );
  });

test.each([
  ['its end', ''],
  ['an exit', 'process.exit(1)'],
  ['an error nobody caught', "throw new Error('crash')"],
])('lines before %s are there, in order', async (_name, end) => {
  const lines = await linesOf(LINES.replace('END', end));
  expect(lines.map(({ msg }) => msg)).toEqual(['first', 'second', 'third']);
  expect(lines[2]).toMatchObject({ level: 'error', key: 'plat_[redacted]' });
});

test('an error is written with its stack and what caused it, whichever context it is of', () => {
  const own = new TypeError('outer', { cause: new RangeError('inner') });
  const other: unknown = runInNewContext("new TypeError('outer', { cause: new RangeError('inner') })");
  for (const error of [own, other]) {
    let said = '';
    createLog('info', (line) => (said += line)).error('failed', { error });
    expect(JSON.parse(said)).toMatchObject({
      error: {
        name: 'TypeError',
        message: 'outer',
        stack: expect.stringMatching(/^TypeError: outer\n    at /) as string,
        cause: { name: 'RangeError', message: 'inner' },
      },
    });
  }
});

test('of a webhook secret nothing is said, whichever Base64 letters it has', () => {
  const secrets = [
    'whsec_kTp+xohs7PNmFqNdol//52YRLpP8l3FY4EBLi9lDFa4=',
    ...Array.from({ length: 50 }, mintWebhookSecret),
  ];
  for (const secret of secrets) {
    let said = '';
    createLog('info', (line) => (said += line)).warn(`not sent with ${secret}`, { why: [secret] });
    expect(JSON.parse(said)).toMatchObject({ msg: 'not sent with whsec_[redacted]', why: ['whsec_[redacted]'] });
  }
});

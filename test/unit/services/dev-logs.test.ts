import { mkdtempSync, writeFileSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDevFile, writeDevFile } from '../../../scripts/dev/dev-file';
import { keepSecrets } from '../../../scripts/dev/environment';
import { formatLogLine } from '../../../scripts/dev/log-lines';

let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'signalbox-dev-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

test.each([
  ['{"level":"info","msg":"hello"}', false, undefined],
  ['{"level":"info","time":"t","msg":"hello","port":1}', true, 'info hello port=1'],
  ['{"level":"warn","msg":"slow","what":"store"}', false, 'warn slow what=store'],
  [
    '{"level":"error","msg":"broke","error":{"stack":"Error: x\\n at y"}}',
    false,
    'error broke\n    Error: x\n     at y',
  ],
  ['(node:1) Warning: careful', false, '(node:1) Warning: careful'],
  ['{"level":30,"msg":"foreign"}', false, '{"level":30,"msg":"foreign"}'],
  ['{ not json', false, '{ not json'],
  ['', true, undefined],
])('the log line %s (verbose: %s) is shown as %j', (line, isVerbose, expected) => {
  expect(formatLogLine(line, isVerbose)).toBe(expected);
});

test('secrets are made once, kept, and readable by their owner only', () => {
  const path = join(folder, 'secrets.json');
  const secrets = keepSecrets(path);
  expect(Object.values(secrets).every((secret) => secret.length >= 32)).toBe(true);
  expect(keepSecrets(path)).toEqual(secrets);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test.each(['{"KEY_PEPPER": "abc', '[]', '{"KEY_PEPPER": 5}', ''])(
  'secrets that cannot be read are not replaced, which would end every key of the data: %s',
  (text) => {
    const path = join(folder, 'damaged-secrets.json');
    writeFileSync(path, text);
    expect(() => keepSecrets(path)).toThrow(/damaged-secrets\.json.*--reset/s);
    expect(readFileSync(path, 'utf8')).toBe(text);
  },
);

test('dev.json names every address and is readable by its owner only', () => {
  const path = join(folder, 'dev.json');
  const keys = { mail_admin: 'a', mail_send: 'b', plat_all: 'c', plat_no_scopes: 'd', second_org_plat_all: 'e' };
  const seed = { org_id: 'org_1', second_org_id: 'org_2', users: [], keys, curl: 'curl $BASE' };
  const addresses = { baseUrl: 'http://127.0.0.1:3000', temporalUiUrl: 'http://ui', inboxUrl: 'http://inbox' };
  writeDevFile(path, createDevFile(addresses, seed));
  const base = addresses.baseUrl;
  const products = ['psa', 'crm', 'books', 'rmm', 'security', 'defend', 'backups', 'voice', 'portal', 'console'];
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({
    base_url: base,
    mail_base_url: `${base}/mail`,
    agents_base_url: `${base}/agents`,
    product_base_urls: Object.fromEntries(products.map((product) => [product, `${base}/${product}`])),
    console_url: `${base}/`,
    temporal_ui_url: 'http://ui',
    inbox_url: 'http://inbox',
    org_id: 'org_1',
    second_org_id: 'org_2',
    users: [],
    keys,
  });
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

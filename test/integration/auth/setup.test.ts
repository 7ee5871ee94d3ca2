/** The setup command: the one way to manage orgs and keys in production. */
import { spawnSync } from 'node:child_process';
import { compiled } from '../../support/global-build';
import { joinStack, type Harness } from '../../support/harness';
import { auditEntries, auditFrom } from '../../../src/store/audit';
import { readTenant } from '../../../src/store/tenants';

let harness: Harness;
beforeAll(() => {
  harness = joinStack();
});
afterAll(() => harness.close());

let orgs = 0;
const newOrgId = (): string => `org_setup_${Date.now()}_${(orgs += 1)}`;

function setup(...args: string[]): { status: number | null; out: string; err: string } {
  const env = { PATH: process.env['PATH'] ?? '', ...harness.address.env };
  const { status, stdout, stderr } = spawnSync(process.execPath, [compiled('scripts/setup.ts'), ...args], {
    env,
    encoding: 'utf8',
  });
  return { status, out: stdout, err: stderr };
}

test.each([['--list'], ['--audit'], ['--revoke', 'key_1']])(
  'asked to read or revoke (%s), it makes no org and names those there are',
  async (...args) => {
    const org = newOrgId();
    const { status, err } = setup('--org', org, ...args);
    expect([status, err]).toEqual([1, expect.stringContaining(`there is no org ${org}; there `)]);
    expect(await readTenant(harness.store, org)).toBeNull();
  },
);

test('name and tier of an org that is there are changed, and that is said; what is not named stays', async () => {
  const org = newOrgId();
  setup('--org', org, '--tier', 'professional', '--timezone', 'Europe/Berlin');
  expect(setup('--org', org, '--name', 'Acme', '--tier', 'enterprise').out).toBe(
    `org ${org} changed: name ${org} → Acme, tier professional → enterprise\n`,
  );
  expect(setup('--org', org).out).toBe(`org ${org}\n`);
  expect(await readTenant(harness.store, org)).toMatchObject({
    name: 'Acme',
    tier: 'enterprise',
    timezone: 'Europe/Berlin',
  });
});

test('owners and keys it makes, and keys it revokes, leave entries by `setup`, which --audit shows and checks', async () => {
  const org = newOrgId();
  const { out } = setup('--org', org, '--owner', `${org}@example.com`, '--key', 'First key');
  const key = /key (key_\w+), shown/.exec(out)?.[1] ?? '';
  setup('--org', org, '--revoke', key);
  expect(setup('--org', org, '--revoke', key).status).toBe(0);
  const entries = await auditFrom(harness.store, org, 1, 10);
  expect(entries.map(({ actor, action, target }) => [actor.kind, actor.id, action, target.name])).toEqual([
    ['operator', 'setup', 'org.created', org],
    ['operator', 'setup', 'user.created', `${org}@example.com`],
    ['operator', 'setup', 'api_key.created', 'First key'],
    ['operator', 'setup', 'api_key.revoked', 'First key'],
  ]);
  expect(JSON.stringify(entries)).not.toContain('plat_');
  const shown = setup('--org', org, '--audit');
  expect(shown.out).toContain(`setup api_key.revoked ${key} First key\n`);
  expect(shown.out).toContain('the audit trail is whole: 4 entries');

  await auditEntries.in(harness.store).collection.deleteOne({ _id: `${org}:2` as never });
  const broken = setup('--org', org, '--audit');
  expect([broken.status, broken.err]).toEqual([1, `the audit trail of ${org} is broken: entry 2 is missing\n`]);
});

test('what was changed about an org is in its trail, with what it was before', async () => {
  const org = newOrgId();
  setup('--org', org);
  setup('--org', org, '--tier', 'professional', '--timezone', 'Europe/Berlin');
  setup('--org', org, '--tier', 'professional');
  const entries = await auditFrom(harness.store, org, 1, 10);
  expect(entries.map(({ action, details }) => [action, details])).toEqual([
    ['org.created', { tier: 'standard', timezone: 'UTC' }],
    ['org.updated', { tier: { from: 'standard', to: 'professional' }, timezone: { from: 'UTC', to: 'Europe/Berlin' } }],
  ]);
});

test.each([
  [['--timezone', 'Mars/Phobos'], '--timezone must be one of the names of time zones, such as Europe/Berlin\n'],
  [['--name', ' '], '--name must be 1 to 120 characters, not all blank\n'],
  [['--owner', 'nobody'], '--owner must be one mail address\n'],
  [['--key', ''], '--key must be 1 to 120 characters, not all blank\n'],
  [['--key', 'k'.repeat(121)], '--key must be 1 to 120 characters, not all blank\n'],
])('what nobody could use (%j) is refused before anything is made', async (args, sentence) => {
  const org = newOrgId();
  const { status, err } = setup('--org', org, ...args);
  expect([status, err]).toEqual([1, sentence]);
  expect(await readTenant(harness.store, org)).toBeNull();
});

test('the owner of another org is refused before anything is made', async () => {
  const [one, other] = [newOrgId(), newOrgId()];
  setup('--org', one, '--owner', `${one}@example.com`);
  const { status, err } = setup('--org', other, '--owner', `${one}@example.com`);
  expect([status, err]).toEqual([1, `${one}@example.com is a user of another org\n`]);
  expect(await readTenant(harness.store, other)).toBeNull();
});

test('it explains itself when asked, and when it does not know an option', () => {
  const usage = 'node dist/scripts/setup.js --org <id> [options]';
  expect(setup('--help')).toMatchObject({ status: 0, out: expect.stringContaining(usage) as string, err: '' });
  const { status, err } = setup('--org', newOrgId(), '--bogus');
  expect([status, err]).toEqual([1, expect.stringMatching(/^Unknown option '--bogus'[^]*--list/)]);
});

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
    ['operator', 'setup', 'user.created', `${org}@example.com`],
    ['operator', 'setup', 'api_key.created', 'First key'],
    ['operator', 'setup', 'api_key.revoked', 'First key'],
  ]);
  expect(JSON.stringify(entries)).not.toContain('plat_');
  const shown = setup('--org', org, '--audit');
  expect(shown.out).toContain(`setup api_key.revoked ${key} First key\n`);
  expect(shown.out).toContain('the audit trail is whole: 3 entries');

  await auditEntries.in(harness.store).collection.deleteOne({ _id: `${org}:2` as never });
  const broken = setup('--org', org, '--audit');
  expect([broken.status, broken.err]).toEqual([1, `the audit trail of ${org} is broken: entry 2 is missing\n`]);
});

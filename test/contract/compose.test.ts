import { execFileSync, spawnSync } from 'node:child_process';
import { parse } from 'yaml';
import { SETTINGS } from '../../src/config';
import { NODE_FLAGS } from '../../scripts/dev/node-flags';
import { SEARCH_ATTRIBUTES as STARTED_WITH } from '../../scripts/services/temporal';
import { SEARCH_ATTRIBUTES } from '../../src/contracts/messages';
import { filesBelow, read, ROOT } from '../architecture/source-tree';

interface ComposeService {
  image?: string;
  command?: string[];
  environment?: Record<string, string | null>;
  stop_grace_period?: string;
  healthcheck?: { test: string[] };
  ports?: string[];
  profiles?: string[];
  volumes?: string[];
}

const source = read('docker-compose.yml');
const { services } = parse(source, { merge: true }) as { services: Record<string, ComposeService> };
const environmentOf = (name: string): Record<string, string | null> => services[name]?.environment ?? {};

const INSTALL_MS = 240_000;
const SECRET = '0123456789abcdef0123456789abcdef';

/** Names that must be set before the stack starts: `${NAME:?why}`. */
const required = [...new Set([...source.matchAll(/\$\{([A-Z_]+):\?/g)].map((match) => match[1] ?? ''))];
const filledIn = { ...process.env, ...Object.fromEntries(required.map((name) => [name, SECRET])) };

/** Set by the image itself, where the file is. */
const OF_THE_IMAGE = ['WORKFLOW_BUNDLE'];

describe.each(['api', 'worker'])('the environment of %s', (name) => {
  const names = Object.keys(environmentOf(name));

  test('holds only names the configuration knows', () => {
    expect(names.filter((setting) => !(setting in SETTINGS))).toEqual([]);
  });

  test('lets an operator set every setting', () => {
    expect(Object.keys(SETTINGS).filter((setting) => !names.includes(setting))).toEqual(OF_THE_IMAGE);
  });

  test('has every secret, and none of them in the file', () => {
    const secrets = Object.entries(SETTINGS).filter(([, { kind }]) => kind === 'secret');
    for (const [setting] of secrets) {
      const value = environmentOf(name)[setting];
      // No value means: as the operator's environment has it.
      expect(value === null || /\$\{[A-Z_]+:\?/.test(value ?? '')).toBe(true);
    }
  });

  test('asks for what production cannot start without', () => {
    for (const setting of ['KEY_PEPPER', 'SESSION_SECRET', 'TOKEN_SECRET', 'MONGODB_URI', 'PUBLIC_URL']) {
      expect(environmentOf(name)[setting]).toMatch(/\$\{[A-Z_]+:\?/);
    }
    expect(environmentOf(name)['SIGNALBOX_MODE']).toBe('production');
  });
});

test('the image sets what the stack leaves to it', () => {
  const dockerfile = read('Dockerfile');
  for (const setting of OF_THE_IMAGE) expect(dockerfile).toMatch(new RegExp(`\\b${setting}=\\S`));
  expect(dockerfile).toMatch(/^USER (?!0|root)/m);
});

test('the image and the stack run Node as everything here does', () => {
  const cmd = JSON.parse(/^CMD (.+)$/m.exec(read('Dockerfile'))?.[1] ?? '') as string[];
  expect(cmd).toEqual(['node', ...NODE_FLAGS, 'dist/src/main.js']);
  expect(services['api']?.command).toEqual(cmd);
  expect(services['worker']?.command).toEqual(['node', ...NODE_FLAGS, 'dist/worker/main.js']);
});

test('the example environment names everything that is required', () => {
  const example = read('.env.example');
  expect(required.filter((name) => !new RegExp(`^${name}=`, 'm').test(example))).toEqual([]);
});

test('both engines, of the stack and of the development command, get the search attributes the workflows write', () => {
  const types = { KEYWORD: 'Keyword', BOOL: 'Bool', INT: 'Int' } as const;
  const wanted = Object.entries(SEARCH_ATTRIBUTES).map(([name, type]) => `${name}=${types[type]}`);
  const given = environmentOf('temporal-admin')['SEARCH_ATTRIBUTES'] ?? '';
  expect(given.trim().split(/\s+/).toSorted()).toEqual(wanted.toSorted());
  expect(STARTED_WITH.toSorted()).toEqual(wanted.toSorted());
  expect(environmentOf('temporal-admin')['TEMPORAL_NAMESPACE']).toBe(environmentOf('api')['TEMPORAL_NAMESPACE']);
  expect(environmentOf('temporal-admin')['RETENTION']).toBe('14d');
});

test('every image has a fixed version', () => {
  const images = Object.values(services).map(({ image = '' }) => image);
  expect(images.filter((image) => !/:(\$\{SIGNALBOX_VERSION:-local\}|v?\d+(\.\d+)*)$/.test(image))).toEqual([]);
});

test('nothing is published beyond this machine', () => {
  const ports = Object.values(services).flatMap((service) => service.ports ?? []);
  expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
});

test('a stopping worker has longer than its steps may take to finish', () => {
  const grace = Number(SETTINGS.SHUTDOWN_GRACE_SECONDS.fallback) + 15;
  expect(Number.parseInt(services['worker']?.stop_grace_period ?? '', 10)).toBeGreaterThan(grace);
});

test('every file the stack mounts is there', () => {
  const files = filesBelow('deploy');
  const mounted = Object.values(services)
    .flatMap(({ volumes = [] }) => volumes)
    .filter((volume) => volume.startsWith('./'))
    .map((volume) => volume.slice(2).split(':', 1)[0] ?? '');
  expect(mounted.filter((path) => !files.some((file) => file === path || file.startsWith(`${path}/`)))).toEqual([]);
});

const COMMANDS = [['docker', 'compose'], ['docker-compose']] as const;

const works = ([program, ...args]: readonly [string, ...string[]]): boolean =>
  spawnSync(program, [...args, 'version'], { stdio: 'ignore' }).status === 0;

const findCompose = () => COMMANDS.find(works);

/** Compose as this machine has it; root installs Debian's, because without it the file would be checked by nobody. */
function compose(): readonly [string, ...string[]] {
  const found = findCompose();
  if (found) return found;
  if (process.getuid?.() === 0) {
    const options = ['-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=120'];
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    spawnSync('apt-get', ['update', '-qq'], { stdio: 'ignore', env });
    spawnSync('apt-get', ['install', ...options, 'docker-compose'], { stdio: 'ignore', env });
  }
  const installed = findCompose();
  if (installed) return installed;
  throw new Error(
    'Neither `docker compose` nor `docker-compose` is here; install one of them to have the stack checked.',
  );
}

test(
  'compose accepts the file, and refuses to start without its secrets',
  () => {
    const [program, ...args] = compose();
    const config = [...args, '-f', 'docker-compose.yml', '--profile', 'mail', 'config'];
    const resolved = execFileSync(program, config, { cwd: ROOT, env: filledIn, encoding: 'utf8' });
    const names = Object.keys((parse(resolved) as { services: Record<string, ComposeService> }).services);
    expect(names.toSorted()).toEqual(Object.keys(services).toSorted());
    const bare = { ...filledIn, ...Object.fromEntries(required.map((name) => [name, ''])) };
    const refused = spawnSync(program, [...config, '--quiet'], { cwd: ROOT, env: bare, encoding: 'utf8' });
    expect(refused.status).not.toBe(0);
    expect(required.some((name) => refused.stderr.includes(name))).toBe(true);
  },
  INSTALL_MS,
);

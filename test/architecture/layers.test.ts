import { codeFiles, importsOf, type Import } from './source-tree';

/**
 * Who may import whom at run time. The first row whose path fits a file is its layer; `uses` names the layers it may
 * import beside its own, `packages` the packages. Records change only in the store, order is decided only in the
 * workflows, the outside is touched only in the providers: a package that could do it elsewhere is not in that row.
 */
const LAYERS: Record<string, { at: RegExp; uses: readonly string[]; packages: readonly string[] }> = {
  schema: { at: /^src\/contracts\/schema\.ts/, uses: [], packages: ['@sinclair/typebox'] },
  operations: { at: /^src\/contracts\/operations\//, uses: ['contracts', 'schema', 'resources'], packages: [] },
  contracts: { at: /^src\/contracts\//, uses: ['schema'], packages: [] },
  resources: { at: /^src\/resources\//, uses: ['contracts', 'schema'], packages: [] },
  domain: {
    at: /^src\/domain\//,
    uses: ['contracts'],
    packages: ['handlebars', 'ajv/dist/2020', 'ipaddr.js', 'node:crypto', 'node:zlib'],
  },
  catalog: { at: /^src\/catalog\//, uses: ['contracts', 'domain', 'resources'], packages: [] },

  // Telling an outage from a bug needs the driver's error classes, and nothing else of the store.
  outages: { at: /^src\/store\/outages\.ts/, uses: [], packages: ['mongoose'] },
  store: {
    at: /^src\/store\//,
    uses: ['outages', 'contracts', 'schema', 'domain', 'resources'],
    packages: ['mongoose', 'node:timers/promises'],
  },
  engine: {
    at: /^src\/engine\//,
    uses: ['contracts', 'domain', 'base'],
    packages: ['@temporalio/client', '@temporalio/common', 'node:crypto'],
  },
  providers: {
    at: /^src\/providers\//,
    uses: ['contracts', 'domain'],
    packages: [
      'ai',
      '@ai-sdk/*',
      'nodemailer',
      'nodemailer/*',
      'undici',
      'ipaddr.js',
      'ajv/dist/2020',
      'ajv-formats',
      'node:*',
    ],
  },
  events: {
    at: /^src\/events\//,
    uses: ['outages', 'store', 'engine', 'catalog', 'resources', 'domain', 'contracts', 'base'],
    packages: ['node:timers/promises'],
  },

  // What is signed and verified for sessions and portal tokens, before and behind the guard.
  tokens: { at: /^src\/tokens\//, uses: ['contracts', 'base'], packages: ['jose', 'node:crypto'] },

  agents: {
    at: /^src\/services\/agents\//,
    uses: ['events', 'store', 'engine', 'catalog', 'domain', 'contracts'],
    packages: [],
  },
  product: {
    at: /^src\/services\/product\//,
    uses: ['outages', 'events', 'store', 'resources', 'operations', 'tokens', 'domain', 'contracts'],
    packages: [],
  },
  console: {
    at: /^src\/services\/console\//,
    uses: ['events', 'store', 'catalog', 'operations', 'tokens', 'domain', 'contracts'],
    packages: ['node:crypto'],
  },

  // The part of http that stands before every handler: the only one that asks the store, about callers and repeats.
  guard: {
    at: /^src\/http\/(admission|authenticate|auth-[a-z]+|credentials|guard|idempotency|session-cookie)\.ts/,
    uses: ['outages', 'store', 'console', 'tokens', 'domain', 'contracts', 'base'],
    packages: ['ipaddr.js', 'node:crypto'],
  },
  http: {
    at: /^src\/http\//,
    uses: [
      'guard',
      'outages',
      'agents',
      'product',
      'console',
      'catalog',
      'operations',
      'resources',
      'domain',
      'contracts',
      'schema',
    ],
    packages: [
      'express',
      'find-my-way',
      'ajv/dist/2020',
      'node:buffer',
      'node:crypto',
      'node:fs',
      'node:fs/promises',
      'node:net',
      'node:path',
      'node:querystring',
    ],
  },
  client: { at: /^src\/client\//, uses: ['operations', 'contracts'], packages: [] },

  base: {
    at: /^src\/(clock|config|config-values|context|log|loop)\.ts/,
    uses: [],
    packages: ['node:net', 'node:timers/promises', 'node:util/types'],
  },
  process: {
    at: /^src\/process\.ts/,
    uses: ['base', 'store', 'engine', 'events', 'providers', 'domain'],
    packages: [],
  },
  main: { at: /^src\/main\.ts/, uses: ['process', 'http', 'guard', 'events'], packages: ['node:http'] },

  workflows: {
    at: /^workflows\//,
    uses: ['contracts', 'domain'],
    packages: ['@temporalio/workflow', '@temporalio/common'],
  },
  activities: {
    at: /^activities\//,
    uses: ['outages', 'store', 'events', 'engine', 'providers', 'domain', 'contracts'],
    packages: ['@temporalio/activity', 'node:crypto'],
  },
  worker: {
    at: /^worker\//,
    uses: ['base', 'activities', 'process', 'engine', 'events', 'providers', 'contracts'],
    packages: ['@temporalio/worker', '@temporalio/worker/lib/workflow/reusable-vm', '@temporalio/common', 'node:*'],
  },

  // Engine and store for development: works before anything of the product does.
  services: {
    at: /^scripts\/services\//,
    uses: [],
    packages: ['mongoose', 'undici', 'mongodb-memory-server-core/*', 'node:*'],
  },
  dev: { at: /^scripts\/dev\//, uses: ['services'], packages: ['smtp-server', 'postal-mime', 'node:*'] },
  seed: {
    at: /^scripts\/seed\//,
    uses: ['store', 'resources', 'product', 'domain', 'contracts', 'catalog'],
    packages: ['node:crypto'],
  },
  // Tools that measure and record the whole product.
  tools: { at: /^scripts\/(bench|fuzz|save-history)/, uses: ['*'], packages: ['*'] },
  scripts: {
    at: /^scripts\//,
    uses: ['dev', 'services', 'seed', 'store', 'http', 'operations', 'domain', 'contracts', 'base', 'worker'],
    packages: ['node:*'],
  },
  // Tests may import whatever they test; almost nobody imports them.
  tests: { at: /^test\//, uses: ['*'], packages: ['*'] },
};

const layerOf = (path: string): string | undefined => Object.entries(LAYERS).find(([, { at }]) => at.test(path))?.[0];

/** An entry may end in `*`, which stands for the rest of a name. */
const fits = (allowed: readonly string[], name: string): boolean =>
  allowed.some((entry) => (entry.endsWith('*') ? name.startsWith(entry.slice(0, -1)) : entry === name));

const files = codeFiles().filter((path) => !/^(test|console|deploy)\//.test(path));
const known = new Set(files);

/** The file an import of ours means; a folder means its index. */
function fileOf(target: string): string {
  const candidates = [target, `${target}.ts`, `${target}/index.ts`, `${target}.js`];
  return candidates.find((candidate) => known.has(candidate)) ?? target;
}

function faultOf(path: string, layer: string, { target, isOurs }: Import): string | null {
  const { uses, packages } = LAYERS[layer] ?? { uses: [], packages: [] };
  if (!isOurs) return fits(packages, target) ? null : `${path} (${layer}) may not import the package ${target}`;
  const other = layerOf(fileOf(target));
  if (other === layer || (other !== undefined && fits(uses, other))) return null;
  return `${path} (${layer}) may not import ${target} (${other ?? 'no layer'})`;
}

test('every file belongs to a layer', () => {
  expect(files.filter((path) => layerOf(path) === undefined)).toEqual([]);
});

test('imports follow the table of layers', () => {
  const faults = files.flatMap((path) => {
    const layer = layerOf(path);
    return layer === undefined ? [] : importsOf(path).map((found) => faultOf(path, layer, found));
  });
  expect(faults.filter((fault) => fault !== null)).toEqual([]);
});

test('the table allows no two layers to import each other', () => {
  const mutual = Object.entries(LAYERS).flatMap(([name, { uses }]) =>
    uses.filter((other) => LAYERS[other]?.uses.includes(name)).map((other) => `${name} and ${other}`),
  );
  expect(mutual).toEqual([]);
});

test('nothing a workflow reaches, however indirectly, touches Node', () => {
  const reached = new Map<string, string>();
  const waiting = files.filter((path) => path.startsWith('workflows/'));
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    for (const { target, isOurs } of importsOf(path)) {
      const file = isOurs ? fileOf(target) : target;
      if (reached.has(file)) continue;
      reached.set(file, path);
      if (isOurs) waiting.push(file);
    }
  }
  const packages = [...reached].filter(([name]) => !known.has(name) && !name.startsWith('@temporalio/'));
  expect(packages.map(([name, by]) => `${name}, imported by ${by}`)).toEqual([]);
});

/** Generated requests against every operation of every mount: the product answers what its documents say. */
import { resolve } from 'node:path';
import { readConfig } from '../../../src/config';
import { allOperations, documentedServices } from '../../../src/http/api-documents';
import { createCast, type Cast } from '../../../scripts/fuzz/cast';
import { SHORT } from '../../../scripts/fuzz/options';
import { ensureSchemathesis, type Schemathesis } from '../../../scripts/fuzz/python';
import { failuresIn, runMount } from '../../../scripts/fuzz/run-mount';
import { choosePort } from '../../../scripts/services/ports';
import { createSetup } from '../../../scripts/services/setup';
import { joinStack } from '../../support/harness';
import { productProcess, type ProductProcess } from '../../support/processes';

/** `GET /api/tickets/{id}`, as documents write it. */
const operationsOf = (mount: string): string[] =>
  allOperations
    .filter(({ service }) => service === mount)
    .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`);

const FOLDER = resolve(__dirname, '../../../.signalbox/fuzz-short');
const SETUP_MS_MAX = 600_000;
/** A quarter of a minute for the largest; the rest is for machines that are busy with something else. */
const MOUNT_MS_MAX = 600_000;

let api: ProductProcess | undefined;
let baseUrl: string;
let schemathesis: Schemathesis;
const casts: Cast[] = [];

beforeAll(async () => {
  const log = (line: string): void => void process.stderr.write(`fuzz: ${line}\n`);
  log(`seed ${SHORT.seed}; npm run fuzz -- --short repeats this run`);
  schemathesis = await ensureSchemathesis(createSetup({ dataDir: FOLDER, log }));
  const harness = joinStack();
  const port = await choosePort();
  baseUrl = `http://127.0.0.1:${port}`;
  // A process of its own: wrong passwords and keys count against the address, and the cookie has the documented name.
  const env = { ...harness.address.env, PORT: String(port), PUBLIC_URL: 'https://signalbox.test' };
  const logFile = resolve(__dirname, `../../../.signalbox/test-logs/api-${port}.log`);
  api = productProcess({ script: 'src/main.ts', env, readyText: '"msg":"api ready"', logFile });
  await api.start();
  try {
    const target = { baseUrl, config: readConfig(env), store: harness.store };
    casts.push(...(await Promise.all(documentedServices.map((mount) => createCast(target, mount)))));
  } finally {
    await harness.close();
  }
}, SETUP_MS_MAX);
afterAll(() => api?.stop());

test.each(documentedServices)(
  '%s: no request made from its document gets an answer that the document does not allow',
  async (mount) => {
    const cast = casts.find((candidate) => candidate.mount === mount);
    if (!cast) throw new Error(`no cast for ${mount}`);
    const { findings, answered, output } = await runMount({ ...SHORT, cast, baseUrl, schemathesis, folder: FOLDER });
    expect(findings.length === 0 ? '' : failuresIn(output)).toBe('');
    expect(findings).toEqual([]);
    expect(Object.keys(answered).sort()).toEqual(operationsOf(mount).sort());
  },
  MOUNT_MS_MAX,
);

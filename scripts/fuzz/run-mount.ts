/** One run of schemathesis over the document of one mount, as it is served, and what came of it. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { allOperations, documentedServices } from '../../src/http/api-documents';
import type { Report } from '../services/progress';
import { run } from '../services/run';
import type { Cast } from './cast';
import type { Effort } from './options';
import type { Schemathesis } from './python';

const CONFIG = join(__dirname, 'schemathesis.toml');

export interface MountRun extends Effort {
  cast: Cast;
  baseUrl: string;
  schemathesis: Schemathesis;
  /** Where the cast, the report and the whole output are kept. */
  folder: string;
}

/** A kind of finding and the operations that have it. */
interface Failure {
  title: string;
  operations: readonly string[];
}

/** The parts of schemathesis's own report that are read here. */
interface RunReport {
  complete: boolean;
  stop_reason: string;
  running_time: number;
  operations: { selected: number; tested: number };
  test_cases: { generated: number; unique_failures: number };
  failures: readonly Failure[];
  errors: readonly unknown[];
}

export interface MountResult {
  mount: string;
  operations: number;
  cases: number;
  seconds: number;
  /** Operations (`GET /api/x/{id}`) → the statuses that requests with their method were answered. */
  answered: Record<string, number[]>;
  /** One line per finding; empty when the mount keeps what its document says. */
  findings: string[];
  /** What schemathesis printed, with a curl line per finding. */
  output: string;
}

const shown = ({ title, operations }: Failure): string[] => operations.map((operation) => `${operation}: ${title}`);

/** A run that ended early, or left an operation out, has proved nothing about the rest. */
function gapsOf({ complete, stop_reason: reason, operations, errors }: RunReport): string[] {
  return [
    ...(complete && reason === 'completed' ? [] : [`the run ended early: ${reason}`]),
    ...(operations.tested === operations.selected && operations.tested > 0
      ? []
      : [`${operations.tested} of ${operations.selected} operations were tested`]),
    ...errors.map((error) => `error: ${JSON.stringify(error)}`),
  ];
}

/** Making up every case of these bodies takes minutes, whether it is sent or not. */
const ENDLESS = ['createAgent', 'updateAgent'];

/** Which operations a run that takes a share leaves to their examples; those that have none get one made up. */
function shortConfig({ operationsShare, cast }: MountRun): string {
  const ids = allOperations.filter(({ service }) => service === cast.mount).map(({ id }) => id);
  // Each mount begins one place further on: resources have their routes in one order, and lists take longest.
  const first = documentedServices.indexOf(cast.mount) % operationsShare;
  const left = ids.filter((id, place) => place % operationsShare !== first || ENDLESS.includes(id));
  return `
[phases.examples]
fill-missing = true
# What earlier answers hold is for the coverage phase, whose misfits the hooks know; here all comes from the document.
extra-data-sources.responses = false

[[operations]]
include-operation-id = ${JSON.stringify(left)}
phases.coverage.enabled = false
`;
}

function writeConfig(options: MountRun): string {
  const file = join(options.folder, `${options.cast.mount}-schemathesis.toml`);
  writeFileSync(file, `${readFileSync(CONFIG, 'utf8')}${options.share > 1 ? shortConfig(options) : ''}`);
  return file;
}

function argumentsOf(options: MountRun, reportFile: string): string[] {
  const { cast, baseUrl, seed, maxExamples, phases } = options;
  const configFile = writeConfig(options);
  const mountUrl = `${baseUrl}/${cast.mount}`;
  const source = ['run', `${mountUrl}/api/openapi.json`, '--url', mountUrl];
  const amount = ['--phases', phases.join(','), '--seed', String(seed), '--max-examples', String(maxExamples)];
  const report = ['--no-color', '--report', 'json', '--report-json-path', reportFile];
  return ['-m', 'schemathesis.cli', '--config-file', configFile, ...source, '--checks', 'all', ...amount, ...report];
}

/** Runs it to its end; findings are an answer, not an error. */
export async function runMount(options: MountRun, report: Report = () => undefined): Promise<MountResult> {
  const { cast, schemathesis, folder, seed, share } = options;
  mkdirSync(folder, { recursive: true });
  const fileOf = (name: string): string => join(folder, `${cast.mount}-${name}`);
  const [castFile, reportFile, answeredFile] = [fileOf('cast.json'), fileOf('report.json'), fileOf('answered.json')];
  writeFileSync(castFile, JSON.stringify(cast), { mode: 0o600 });
  for (const file of [reportFile, answeredFile]) rmSync(file, { force: true });
  const env = {
    PATH: process.env['PATH'],
    HOME: process.env['HOME'],
    PYTHONPATH: schemathesis.packages,
    PYTHONDONTWRITEBYTECODE: '1',
    SIGNALBOX_FUZZ_CAST: castFile,
    SIGNALBOX_FUZZ_ANSWERED: answeredFile,
    SIGNALBOX_FUZZ_SEED: String(seed),
    SIGNALBOX_FUZZ_SHARE: String(share),
  };
  const lines: string[] = [];
  const command = { file: schemathesis.python, args: argumentsOf(options, reportFile), env, cwd: __dirname };
  const failed = await run(command, (line) => {
    lines.push(line);
    if (line.trim()) report(line.trim());
  }).then(
    () => null,
    (error: unknown) => String(error),
  );
  const output = lines.join('\n');
  writeFileSync(fileOf('output.txt'), output);
  const result = readJson(reportFile) as RunReport | null;
  const answered = (readJson(answeredFile) ?? {}) as Record<string, number[]>;
  const { mount } = cast;
  const base = { mount, answered, output };
  if (!result) return { ...base, operations: 0, cases: 0, seconds: 0, findings: [failed ?? 'no report'] };
  const findings = [...result.failures.flatMap(shown), ...gapsOf(result)];
  // An exit code that says "failed" counts whatever the report says.
  if (failed !== null && findings.length === 0) findings.push(failed);
  return {
    ...base,
    operations: result.operations.tested,
    cases: result.test_cases.generated,
    seconds: Math.round(result.running_time),
    findings,
  };
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}

/** What to show of a run with findings: schemathesis's own account of each, its curl line included. */
export function failuresIn(output: string): string {
  const start = output.search(/=+ (FAILURES|ERRORS) =+/);
  const end = output.search(/=+ (WARNINGS|SUMMARY) =+/);
  return output.slice(Math.max(0, start), end > start ? end : undefined).trim();
}

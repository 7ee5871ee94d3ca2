/** The engine: a Temporal server, had by the first of five ways that works. */
import { join } from 'node:path';
import { downloadTemporal } from './download-temporal';
import { findGo, goInstall } from './go-install';
import { ensurePart, type Part, readPart } from './parts';
import { accepts } from './ports';
import { findProgram } from './run';
import { externalService } from './service';
import type { Setup } from './setup';
import { temporalService } from './temporal';
import type { EngineAddresses, Found } from './types';
import { firstWay, StopHere, type Way } from './ways';

/** The newest tag that `go install` accepts: later ones carry a `replace`. */
export const TEMPORAL: Part = { name: 'temporal', version: 'v1.5.1' };

const MODULE = 'github.com/temporalio/cli/cmd/temporal';
const DEFAULT_PORT = 7233;

const ADVICE =
  'Set TEMPORAL_ADDRESS=host:port to a Temporal server you run, or put the `temporal` CLI or the `go` tool on PATH.';

/** A server that already runs, or the program to start one. */
type Engine = { address: string } | { program: string };

async function fromEnvironment({ env }: Setup): Promise<Engine> {
  const address = env['TEMPORAL_ADDRESS'];
  if (!address) throw new Error('not set');
  const [host = '', port = String(DEFAULT_PORT)] = address.split(':');
  if (await accepts(host, Number(port))) return { address };
  // Going on to another way would hide a typing error behind an empty engine.
  throw new StopHere(`TEMPORAL_ADDRESS is set to ${address}, but nothing accepts connections there`);
}

async function fromPath({ env }: Setup): Promise<Engine> {
  const program = findProgram('temporal', env);
  if (!program) throw new Error('not found');
  return { program };
}

async function fromCache({ cacheDir }: Setup): Promise<Engine> {
  const installed = readPart(cacheDir, TEMPORAL);
  if (!installed) throw new Error('none');
  return { program: join(installed.directory, 'temporal') };
}

async function fromRegistry(setup: Setup): Promise<Engine> {
  findGo(setup);
  const installed = await ensurePart(setup, {
    part: TEMPORAL,
    method: 'build',
    origin: 'built from the Go package registry',
    install: (draft, report) => goInstall(setup, `${MODULE}@${TEMPORAL.version}`, draft, report),
  });
  return { program: join(installed.directory, 'temporal') };
}

function ways(setup: Setup): Way<Engine>[] {
  const { version } = TEMPORAL;
  return [
    { source: 'environment', title: 'TEMPORAL_ADDRESS', attempt: () => fromEnvironment(setup) },
    { source: 'path', title: '`temporal` on PATH', attempt: () => fromPath(setup) },
    { source: 'cache', title: `Temporal CLI ${version} in ${setup.cacheDir}`, attempt: () => fromCache(setup) },
    {
      source: 'download',
      title: `Temporal CLI ${version}, official download`,
      attempt: async () => ({ program: join(await downloadTemporal(setup, TEMPORAL), 'temporal') }),
    },
    { source: 'registries', title: `Temporal CLI ${version}, built by go install`, attempt: () => fromRegistry(setup) },
  ];
}

/** Finds the engine; it is not started yet. */
export async function findEngine(setup: Setup): Promise<Found<EngineAddresses>> {
  const { source, value } = await firstWay('engine', ways(setup), setup.log, ADVICE);
  if ('program' in value) return temporalService(setup, source, value.program);
  return {
    service: externalService('engine'),
    addresses: { temporalAddress: value.address, temporalUiUrl: setup.env['TEMPORAL_UI_URL'] ?? '' },
  };
}

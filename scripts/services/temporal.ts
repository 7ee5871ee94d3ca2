/** The Temporal development server as a service: its flags, its data file, its readiness. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { isServing } from './grpc-health';
import { choosePortFor } from './ports';
import { tiedToParent } from './run';
import { createService, type Unit } from './service';
import type { Setup } from './setup';
import type { EngineAddresses, Found, Source } from './types';

const FRONTEND = 'temporal.api.workflowservice.v1.WorkflowService';

// Measured. The default reads a task queue 20 times a second, which costs up to 50 ms per task.
const DYNAMIC_CONFIG = [
  'history.transferProcessorMaxPollRPS=100000',
  'history.timerProcessorMaxPollRPS=1000',
  'system.enableActivityEagerExecution=true',
  'history.timerProcessorMaxTimeShift="10ms"',
  'matching.useNewMatcher=true',
  'matching.enableFairness=true',
  'matching.numTaskqueueReadPartitions=1',
  'matching.numTaskqueueWritePartitions=1',
];

export const SEARCH_ATTRIBUTES = [
  'OrgId=Keyword',
  'AgentId=Keyword',
  'ExecutionId=Keyword',
  'TriggerEvent=Keyword',
  'Outcome=Keyword',
  'CurrentStep=Keyword',
  'WaitingApproval=Bool',
  'CreditsUsed=Int',
];

interface Ports {
  frontend: number;
  ui: number;
}

const repeat = (flag: string, values: readonly string[]): string[] => values.flatMap((value) => [flag, value]);

/** By its name alone, in the folder it is started in: SQLite reads a path as an address, which ends at `#` and `?`. */
const DATABASE = 'temporal.db';

const portArguments = ({ frontend, ui }: Ports): string[] => [`--port=${frontend}`, `--ui-port=${ui}`];

function serverArguments(ports: Ports, isDurable: boolean): string[] {
  // Without fsync a killed server still finds its data: only a power cut loses it.
  const pragmas = ['journal_mode=WAL', `synchronous=${isDurable ? 'NORMAL' : 'OFF'}`];
  const own = ['--ip=127.0.0.1', '--log-level=warn', ...portArguments(ports)];
  return [
    'server',
    'start-dev',
    ...own,
    `--db-filename=${DATABASE}`,
    ...repeat('--sqlite-pragma', pragmas),
    ...repeat('--dynamic-config-value', DYNAMIC_CONFIG),
    ...repeat('--search-attribute', SEARCH_ATTRIBUTES),
  ];
}

function temporalUnit(setup: Setup, program: string, ports: Ports): Unit {
  const folder = join(setup.dataDir, 'engine');
  const args = serverArguments(ports, setup.isDurable);
  return {
    name: 'temporal',
    command: tiedToParent({ file: program, args, env: setup.env, cwd: folder }),
    marker: portArguments(ports).join(' '),
    folder,
    stopSignal: 'SIGTERM',
    prepare: () => {
      mkdirSync(folder, { recursive: true });
      return Promise.resolve();
    },
    isReady: () => isServing(`127.0.0.1:${ports.frontend}`, FRONTEND),
  };
}

/** The service made of the given `temporal` program, with its ports chosen. */
export async function temporalService(setup: Setup, source: Source, program: string): Promise<Found<EngineAddresses>> {
  const ports: Ports = {
    frontend: await choosePortFor('engine', setup.ports.temporal, setup.log),
    ui: await choosePortFor('Temporal Web UI', setup.ports.temporalUi, setup.log),
  };
  const { dataDir, progress } = setup;
  const units = [temporalUnit(setup, program, ports)];
  return {
    service: createService({ name: 'engine', source, dataDir, units, progress }),
    addresses: {
      temporalAddress: `127.0.0.1:${ports.frontend}`,
      temporalUiUrl: `http://127.0.0.1:${ports.ui}`,
    },
  };
}

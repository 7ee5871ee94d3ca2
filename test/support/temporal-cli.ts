/** The `temporal` command line, as operators use it. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { TEMPORAL } from '../../scripts/services/engine';
import { readPart } from '../../scripts/services/parts';
import { cacheFolder } from '../../scripts/services/setup';
import { findProgram } from '../../scripts/services/run';
import type { Harness } from './harness';

function program(): string {
  const onPath = findProgram('temporal', process.env);
  const cached = readPart(cacheFolder(process.env), TEMPORAL);
  if (!onPath && !cached) throw new Error('The temporal command line was not found on PATH or in the cache.');
  return onPath ?? join(cached?.directory ?? '', 'temporal');
}

/** Runs `temporal` with these arguments. */
export const temporalCommand = ({ address }: Pick<Harness, 'address'>, ...args: string[]) =>
  promisify(execFile)(program(), [...args, '--address', address.env['TEMPORAL_ADDRESS'] ?? '']);

/** Runs `temporal workflow <command>` on the workflow of an execution. */
export const workflowCommand = (
  harness: Pick<Harness, 'address'>,
  executionId: string,
  command: string,
  ...options: string[]
) => temporalCommand(harness, 'workflow', command, '--workflow-id', `exec_${executionId}`, ...options);

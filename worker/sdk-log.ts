/** Lines of the engine's library, as this product's log has them. */
import type { LogLevel } from '@temporalio/worker';
import { isError, type Fields, type Log } from '../src/log';

const LEVELS = { TRACE: 'debug', DEBUG: 'debug', INFO: 'debug', WARN: 'warn', ERROR: 'error' } as const;

/** What every poller says again and again while the engine is away: a hundred lines a minute, for one fact. */
const OF_OUTAGES = /^gRPC call \S+ retried|^Network error while/;

/** A line for the log. */
interface Line {
  level: 'debug' | 'info' | 'warn' | 'error';
  fields: Fields;
}

/**
 * Why a step or an execution failed where that is an outcome: a gate was denied, an address answered 404. Its trace tells
 * it, so nobody has to be called. What failed within the product carries its cause.
 */
function outcomeOf(error: unknown): Fields | null {
  // Those of workflows are of classes of their own, which have the same names.
  if (!isError(error)) return null;
  // The activity has a line of its own.
  if (error.name === 'ActivityFailure') return { why: isError(error.cause) ? error.cause.message : error.message };
  if (error.name !== 'ApplicationFailure' || error.cause) return null;
  const { type } = error as { type?: unknown };
  return { ...(typeof type === 'string' ? { code: type } : {}), why: error.message };
}

/** Why a workflow's task failed, of what the library prints of its failure. */
function whyOf(failure: unknown): Fields {
  if (typeof failure !== 'string') return {};
  const [, message] = /\bmessage: ("(?:[^"\\]|\\.)*")/.exec(failure) ?? [];
  try {
    return { why: message ? (JSON.parse(message) as string) : failure };
  } catch {
    return { why: failure };
  }
}

/** What is said of a line, and how loudly. */
export function lineOf(level: LogLevel, meta: Record<string, unknown> = {}): Line {
  const { error, workflowId, activityType, runId, failure } = meta;
  const outcome = outcomeOf(error);
  return {
    level: outcome && level === 'WARN' ? 'info' : LEVELS[level],
    fields: {
      sdk: true,
      ...(outcome ?? (error ? { error } : {})),
      ...whyOf(failure),
      ...(workflowId ? { workflow_id: workflowId } : runId ? { run_id: runId } : {}),
      ...(activityType ? { activity: activityType } : {}),
    },
  };
}

/** A line as the library hands it over. */
interface SdkLine {
  level: LogLevel;
  message: string;
  meta?: Record<string, unknown>;
}

/** Takes the library's lines. While the engine is away, that is told by whoever `isEngineAnswering` asks. */
export const sdkLines =
  (log: Log, isEngineAnswering: () => Promise<boolean>) =>
  ({ level: sdkLevel, message, meta }: SdkLine): void => {
    const { level, fields } = lineOf(sdkLevel, meta);
    if (!OF_OUTAGES.test(message)) return log[level](message, fields);
    void isEngineAnswering().then((answers) => log[answers ? level : 'debug'](message, fields));
  };

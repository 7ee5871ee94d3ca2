/** One JSON line per fact, written by hand: a general logger is the dearest middleware of a request. */
import { isNativeError } from 'node:util/types';

const LEVELS = { debug: 10, info: 20, warn: 30, error: 40, silent: 90 } as const;
type Level = keyof typeof LEVELS;
export type Fields = Record<string, unknown>;

export interface Log {
  debug(msg: string, fields?: Fields): void;
  info(msg: string, fields?: Fields): void;
  warn(msg: string, fields?: Fields): void;
  error(msg: string, fields?: Fields): void;
}

/** API keys and webhook secrets never reach the log, whatever field they came in. Those of webhooks are Base64. */
const SECRETS = /\b(plat_|mail_key_|whsec_)[A-Za-z0-9+/=]{6,}/g;

/** Whether something is an error, of whatever context: those of workflows have classes of their own. */
export const isError = (value: unknown): value is Error =>
  // Most of what is asked is no object, and a call out of JavaScript for each field would double what a line costs.
  value instanceof Error || (typeof value === 'object' && isNativeError(value));

const describe = (value: unknown): unknown =>
  isError(value)
    ? { name: value.name, message: value.message, stack: value.stack, cause: describe(value.cause) }
    : value;

/** Errors where log lines have them: a replacer would be called for every value of every line. */
function shown(fields: Fields): Fields {
  for (const name in fields) {
    if (isError(fields[name]))
      return Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, describe(value)]));
  }
  return fields;
}

let waiting = '';

function flush(): void {
  const text = waiting;
  waiting = '';
  if (text !== '') process.stdout.write(text);
}
// Whatever ends the process, short of SIGKILL, what was said before is written first.
process.once('exit', flush);

/** Lines of one turn of the event loop leave together: under load a write for each costs more than making it. */
function writeSoon(line: string): void {
  if (waiting === '') setImmediate(flush);
  waiting += line;
}

/** Builds the process's log. `level` names the least severe line that is written. */
export function createLog(level: string, write: (line: string) => void = writeSoon): Log {
  const least = LEVELS[level as Level] ?? LEVELS.info;
  const at =
    (name: Level) =>
    (msg: string, fields: Fields = {}): void => {
      if (LEVELS[name] < least) return;
      const line = JSON.stringify({ level: name, time: new Date().toISOString(), msg, ...shown(fields) });
      write(`${line.replace(SECRETS, '$1[redacted]')}\n`);
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

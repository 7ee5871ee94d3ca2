/** Shows the children's log lines to a person: what needs attention always, the rest on request. */

const QUIET_LEVELS = new Set(['debug', 'info']);
const TIME_FIELDS = new Set(['level', 'time', 'msg']);

export interface LogRecord {
  level: string;
  msg: string;
  fields: Record<string, unknown>;
}

/** The record in a line of JSON; undefined when the line is anything else. */
export function parseLogLine(line: string): LogRecord | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const record = JSON.parse(line) as Record<string, unknown>;
    const { level, msg } = record;
    if (typeof level !== 'string' || typeof msg !== 'string') return undefined;
    const fields = Object.fromEntries(Object.entries(record).filter(([name]) => !TIME_FIELDS.has(name)));
    return { level, msg, fields };
  } catch {
    return undefined;
  }
}

function formatField([name, value]: [string, unknown]): string {
  if (typeof value === 'object' && value !== null && 'stack' in value && typeof value.stack === 'string') {
    return `\n    ${value.stack.replaceAll('\n', '\n    ')}`;
  }
  return ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`;
}

/** The line as a person should see it; undefined when it need not be seen. */
export function formatLogLine(line: string, isVerbose: boolean): string | undefined {
  const record = parseLogLine(line);
  if (!record) return line.trim() ? line : undefined;
  if (!isVerbose && QUIET_LEVELS.has(record.level)) return undefined;
  return `${record.level} ${record.msg}${Object.entries(record.fields).map(formatField).join('')}`;
}

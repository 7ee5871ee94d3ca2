/** Answers checked against a JSON Schema, and the repairs that cost nothing. */
import type { ErrorObject } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { schemaCompiler } from '../domain/json-schema';
import { TookTooLong, withinMs } from './time-limit';
import { ProviderError } from './error';

/** What became of an answer: an object that fits, or the reasons it does not. */
export type Checked = { ok: true; object: Record<string, unknown> } | { ok: false; problems: string };

/** Checks a value against one schema. */
export type Checker = (value: unknown) => Checked;

const CHECKERS_MAX = 200;
const PROBLEMS_MAX = 10;
/** Schemas that refer to themselves several times over double the work with each level of an answer. */
const CHECK_MS_MAX = 500;
const checkers = new Map<string, Checker>();

function describe(errors: readonly ErrorObject[] | null | undefined): string {
  const lines = (errors ?? []).slice(0, PROBLEMS_MAX).map(({ instancePath, message, params }) => {
    const { allowedValues, additionalProperty } = params as { allowedValues?: unknown; additionalProperty?: string };
    const detail = allowedValues
      ? ` ${JSON.stringify(allowedValues)}`
      : additionalProperty
        ? ` "${additionalProperty}"`
        : '';
    return `${instancePath || '(the whole answer)'} ${message ?? 'is not valid'}${detail}`;
  });
  return lines.join('; ');
}

/** Work whose length a schema decides, ended when it takes too long. */
export function inTime<Done>(work: () => Done, timeoutMs = CHECK_MS_MAX): Done {
  try {
    return withinMs(timeoutMs, work);
  } catch (error) {
    if (!(error instanceof TookTooLong)) throw error;
    throw new ProviderError('invalid_input', 'The output schema takes too long to apply; make it simpler', {
      cause: error,
    });
  }
}

function compile(schema: Record<string, unknown>): Checker {
  // The dialect named in a schema is not loaded here.
  const { $schema: _dialect, ...body } = schema;
  const ajv = schemaCompiler('stored', { allErrors: true });
  // Later steps rely on what the schema promises; formats nobody knows are left alone.
  addFormats(ajv, { mode: 'fast' });
  try {
    const validate = ajv.compile(body);
    return (value) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value))
        return { ok: false, problems: '(the whole answer) must be a JSON object' };
      return inTime(() => validate(value))
        ? { ok: true, object: value as Record<string, unknown> }
        : { ok: false, problems: describe(validate.errors) };
    };
  } catch (cause) {
    throw new ProviderError('invalid_input', `The output schema cannot be used: ${(cause as Error).message}`, {
      cause,
    });
  }
}

/** The checker of a schema; compiling costs milliseconds, so the last ones are kept. */
export function checkerOf(schema: Record<string, unknown>): Checker {
  const key = JSON.stringify(schema);
  const known = checkers.get(key);
  if (known) return known;
  const checker = compile(schema);
  const [oldest] = checkers.keys();
  if (oldest !== undefined && checkers.size >= CHECKERS_MAX) checkers.delete(oldest);
  checkers.set(key, checker);
  return checker;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The text as it is, without a code fence, and from the first brace to the last: how models wrap their JSON. */
function candidates(text: string): string[] {
  const fenced = text.split('```')[1]?.replace(/^json/i, '');
  const open = text.indexOf('{');
  const close = text.lastIndexOf('}');
  const braced = open >= 0 && close > open ? text.slice(open, close + 1) : undefined;
  return [text, fenced, braced].filter((candidate) => candidate !== undefined);
}

/** Reads an answer: as it stands or, for free, out of fences and prose. `repaired` says which. */
export function readAnswer(text: string, check: Checker): Checked & { repaired: boolean } {
  let worst: Checked = { ok: false, problems: '(the whole answer) is not JSON' };
  for (const candidate of candidates(text)) {
    const value = parsed(candidate);
    if (value === undefined) continue;
    const checked = check(value);
    if (checked.ok) return { ...checked, repaired: candidate !== text };
    worst = checked;
  }
  return { ...worst, repaired: false };
}

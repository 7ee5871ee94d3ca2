/**
 * JSON Schemas that agents' authors write. They are compiled and applied on threads that everybody shares, so what they
 * cost is bounded: their size, and their patterns, which run in linear time.
 */
import Ajv2020, { type Options } from 'ajv/dist/2020';
import { matchesPattern, patternProblem } from './pattern';

/** Compiling takes the longer the more is said, and for some keywords by its square. */
const PARTS_MAX = 1_000;
const TOO_LARGE = `Output schemas may have at most ${PARTS_MAX} members in all, those of their lists and objects included.`;

/** Names and numbers with separators are repetitions in repetitions. */
const DIALECT = { mayNest: true };

/** What ajv wants of a pattern; it tells them apart by their text. */
interface Expression {
  test(text: string): boolean;
  toString(): string;
}

/** Ours, which runs in linear time. */
const linear = (source: string): Expression => ({
  test: (text) => matchesPattern(source, text, { ...DIALECT, caseSensitive: true }),
  toString: () => source,
});

/**
 * An ajv for one schema, as one instance must never meet two schemas of one `$id`. Schemas that were stored before their
 * patterns were looked at may hold any.
 */
export function schemaCompiler(origin: 'new' | 'stored', options: Options): Ajv2020 {
  const read = (source: string, flags: string): Expression => {
    const problem = patternProblem(source, DIALECT);
    if (problem === undefined) return linear(source);
    if (origin === 'stored') return new RegExp(source, flags);
    throw new Error(`The pattern "${source}" cannot be used. ${problem}`);
  };
  // Its name in code that is written out, which is never done here.
  const regExp = Object.assign(read, { code: 'read' });
  // What is referred to often would be written out as often.
  return new Ajv2020({ strict: false, logger: false, inlineRefs: false, ...options, code: { regExp } });
}

/** Every member of every object and list, counted until they are too many. */
function partsOf(schema: unknown): number {
  const open: unknown[] = [schema];
  let parts = 0;
  for (let value = open.pop(); value !== undefined && parts <= PARTS_MAX; value = open.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    const members = Object.values(value) as unknown[];
    parts += members.length;
    // A list may be as long as a body, and is not looked into then.
    open.push(...members.slice(0, PARTS_MAX));
  }
  return parts;
}

function schemaProblem(schema: Record<string, unknown>): string | null {
  try {
    schemaCompiler('new', { validateFormats: false }).compile(schema);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * Says of each schema of one definition what is wrong with it in words, or null when it is usable. Their sizes count
 * together.
 */
export function schemaProblems(): typeof schemaProblem {
  let parts = 0;
  return (schema) => {
    parts += partsOf(schema);
    return parts > PARTS_MAX ? TOO_LARGE : schemaProblem(schema);
  };
}

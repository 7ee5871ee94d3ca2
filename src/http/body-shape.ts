/** What no contract takes, whatever its schema says of a body. */
import type { Finding } from '../contracts/problem';
import { below } from '../domain/definition/findings';

const DEPTH_MAX = 32;

type Members = Record<string, unknown>;

const isParent = (value: unknown): value is Members => typeof value === 'object' && value !== null;

/** Half of a surrogate pair is no character: encoded as UTF-8 it would be stored as another text than was sent. */
const isBroken = (text: unknown): boolean => typeof text === 'string' && !text.isWellFormed();

const holdsNul = (name: string): boolean => name.includes('\0');

/** What is looked for in a body. */
interface Wrong {
  inNames(name: string): boolean;
  inValues?(value: unknown): boolean;
}

/** Where a body holds it, as a JSON pointer; only asked for when it does. */
export function placeOf(wrong: Wrong, value: unknown, path = ''): string | null {
  if (wrong.inValues?.(value)) return path;
  if (!isParent(value)) return null;
  for (const [name, member] of Object.entries(value)) {
    const place = below(path, name.toWellFormed());
    const found = wrong.inNames(name) ? place : placeOf(wrong, member, place);
    if (found !== null) return found;
  }
  return null;
}

const nulInName = (body: unknown): Finding => ({
  path: placeOf({ inNames: holdsNul }, body) ?? '',
  code: 'invalid_key',
  message: 'the name of this field holds a NUL character, which cannot be stored; leave it out',
});

const brokenText = (body: unknown): Finding => ({
  path: placeOf({ inNames: isBroken, inValues: isBroken }, body) ?? '',
  code: 'invalid_text',
  message: 'holds half of a surrogate pair (U+D800 to U+DFFF), which is no character; send whole characters',
});

/**
 * Refuses nesting that no contract needs, before a recursive schema follows it down, names with NUL, which the store
 * cannot keep, and texts that it would keep as others.
 */
export function shapeFindings(body: unknown): Finding[] {
  let level: unknown[] = [body];
  let isAnyBroken = false;
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEPTH_MAX)
      return [{ path: '', code: 'too_deep', message: `the body is nested deeper than ${DEPTH_MAX} levels` }];
    const parents = level.filter(isParent);
    const names = parents.flatMap((value) => Object.keys(value));
    if (names.some(holdsNul)) return [nulInName(body)];
    isAnyBroken ||= level.some(isBroken) || names.some(isBroken);
    level = parents.flatMap((value) => Object.values(value));
  }
  return isAnyBroken ? [brokenText(body)] : [];
}

/** What no contract takes, whatever its schema says of a body. */
import type { Finding } from '../contracts/problem';
import { below } from '../domain/definition/findings';

const DEPTH_MAX = 32;

type Members = Record<string, unknown>;

const isParent = (value: unknown): value is Members => typeof value === 'object' && value !== null;

/** Half of a surrogate pair is no character: encoded as UTF-8 it would be stored as another text than was sent. */
const isBroken = (text: unknown): boolean => typeof text === 'string' && !text.isWellFormed();

/** Where a body holds such a text, as a JSON pointer; only asked for when there is one. */
function brokenAt(value: unknown, path = ''): string | null {
  if (isBroken(value)) return path;
  if (!isParent(value)) return null;
  for (const [name, member] of Object.entries(value)) {
    const place = below(path, name.toWellFormed());
    const found = isBroken(name) ? place : brokenAt(member, place);
    if (found !== null) return found;
  }
  return null;
}

const brokenText = (body: unknown): Finding => ({
  path: brokenAt(body) ?? '',
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
    if (names.some((name) => name.includes('\0')))
      return [{ path: '', code: 'invalid_key', message: 'a field name holds a NUL character' }];
    isAnyBroken ||= level.some(isBroken) || names.some(isBroken);
    level = parents.flatMap((value) => Object.values(value));
  }
  return isAnyBroken ? [brokenText(body)] : [];
}

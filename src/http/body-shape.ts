/** What no contract takes, whatever its schema says of a body. */
import type { Finding } from '../contracts/problem';
import { isParent, isUnstorable, placeOf, whyUnstorable } from '../domain/stored-names';

const DEPTH_MAX = 32;

/** Half of a surrogate pair is no character: encoded as UTF-8 it would be stored as another text than was sent. */
const isBroken = (text: unknown): boolean => typeof text === 'string' && !text.isWellFormed();

function unstorableName(body: unknown): Finding {
  const path = placeOf({ inNames: isUnstorable }, body) ?? '';
  return { path, code: 'invalid_key', message: `the name of this field ${whyUnstorable(path)}; leave it out` };
}

const brokenText = (body: unknown): Finding => ({
  path: placeOf({ inNames: isBroken, inValues: isBroken }, body) ?? '',
  code: 'invalid_text',
  message: 'holds half of a surrogate pair (U+D800 to U+DFFF), which is no character; send whole characters',
});

/**
 * Refuses nesting that no contract needs, before a recursive schema follows it down, names that the store cannot
 * keep, and texts that it would keep as others.
 */
export function shapeFindings(body: unknown): Finding[] {
  let level: unknown[] = [body];
  let isAnyBroken = false;
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEPTH_MAX)
      return [{ path: '', code: 'too_deep', message: `the body is nested deeper than ${DEPTH_MAX} levels` }];
    const parents = level.filter(isParent);
    const names = parents.flatMap((value) => Object.keys(value));
    if (names.some(isUnstorable)) return [unstorableName(body)];
    isAnyBroken ||= level.some(isBroken) || names.some(isBroken);
    level = parents.flatMap((value) => Object.values(value));
  }
  return isAnyBroken ? [brokenText(body)] : [];
}

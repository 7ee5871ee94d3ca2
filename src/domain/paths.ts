/** Dotted paths into JSON. Only own properties count, so no path reaches a prototype. Safe inside workflows. */

/** The longest path that is followed; the contract of a field allows twelve segments. */
const SEGMENTS_MAX = 32;
const INDEX = /^(?:0|[1-9][0-9]{0,8})$/;

const isContainer = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** The value under one name: an own property of an object, or an element of an array by its number. */
function member(value: unknown, segment: string): unknown {
  if (!isContainer(value)) return undefined;
  if (Array.isArray(value) && !INDEX.test(segment)) return undefined;
  return Object.hasOwn(value, segment) ? value[segment] : undefined;
}

/** Follows the segments one by one; `undefined` where the way ends. */
export function readSegments(scope: unknown, segments: readonly string[]): unknown {
  if (segments.length > SEGMENTS_MAX) return undefined;
  let value = scope;
  for (const segment of segments) {
    value = member(value, segment);
    if (value === undefined) return undefined;
  }
  return value;
}

/** The value at a dotted path such as `event_payload.tags.0`, or `undefined` where there is none. */
export const readPath = (scope: unknown, path: string): unknown => readSegments(scope, path.split('.'));

/** Defines an own property whatever its name: plain assignment to `__proto__` would change the prototype instead. */
function define(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}

/** Writes a value at a dotted path of `target`, with plain objects where the way there is missing. */
export function setPath(target: Record<string, unknown>, path: string, value: unknown): void {
  const segments = path.split('.').slice(0, SEGMENTS_MAX);
  const last = segments.pop() ?? '';
  let place: object = target;
  for (const segment of segments) {
    const found = member(place, segment);
    const next = isContainer(found) ? found : {};
    if (next !== found) define(place, segment, next);
    place = next;
  }
  define(place, last, value);
}

/** True when one of the paths leads to what the path is in. */
const isBelowAny = (path: string, paths: ReadonlySet<string>): boolean =>
  path.split('.').some((_, index, names) => index > 0 && paths.has(names.slice(0, index).join('.')));

/** The values of `scope` at the given paths, by path. Absent values are left out, and those inside others of them. */
export function pickPaths(scope: unknown, paths: readonly string[]): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  const all = new Set(paths);
  for (const path of paths) {
    if (isBelowAny(path, all)) continue;
    const value = readPath(scope, path);
    if (value !== undefined) define(picked, path, value);
  }
  return picked;
}

/** The reverse of `pickPaths`: nested objects in which each path finds its value again. The input is not changed. */
export function scopeFrom(facts: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const scope: Record<string, unknown> = {};
  const paths = new Set(Object.keys(facts));
  for (const path of paths) {
    // A value whose parent is a fact too is already inside that parent.
    if (!isBelowAny(path, paths)) setPath(scope, path, facts[path]);
  }
  return scope;
}

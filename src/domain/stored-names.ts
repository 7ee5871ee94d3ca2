/** Names of fields that the store cannot keep, wherever in a value they stand. */
import { below } from './definition/findings';

type Members = Record<string, unknown>;

export const isParent = (value: unknown): value is Members => typeof value === 'object' && value !== null;

/** What is looked for in a value. */
interface Wrong {
  inNames(name: string): boolean;
  inValues?(value: unknown): boolean;
}

/** Where a value holds it, as a JSON pointer; only asked for when it does. */
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

/** The store's driver takes an object with a field of this name for a value of a kind of its own. */
const OF_DRIVER = '_bsontype';

export const isUnstorable = (name: string): boolean => name === OF_DRIVER || name.includes('\0');

/** Why a name for which `isUnstorable` holds cannot be stored. */
export const whyUnstorable = (path: string): string =>
  path.includes('\0')
    ? 'holds a NUL character, which cannot be stored'
    : `is "${OF_DRIVER}", which the store keeps for itself`;

/** The place of a field whose name cannot be stored, as a JSON pointer; of a value of limited depth. */
export function unstorablePlace(value: unknown): string | null {
  let level = [value].filter(isParent);
  while (level.length > 0) {
    if (level.some((parent) => Object.keys(parent).some(isUnstorable)))
      return placeOf({ inNames: isUnstorable }, value);
    level = level.flatMap((parent) => Object.values(parent).filter(isParent));
  }
  return null;
}

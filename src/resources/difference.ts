/** What differs between two payloads of one record, as events tell it. */

/** True when both hold the same; lists and objects are compared by what they hold. */
export const isSame = (one: unknown, other: unknown): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other);

/** The payload's fields that a change touched, in the payload's own spelling: what filters such as `changed` look at. */
export function difference(before: Record<string, unknown>, after: Record<string, unknown>) {
  const changed = Object.keys(after).filter((name) => name !== 'updated_at' && !isSame(before[name], after[name]));
  return { changed, previous: Object.fromEntries(changed.map((name) => [name, before[name] ?? null])) };
}

/** JSON that is the same text for the same value, whatever the order of its fields. */

/**
 * The text, keys sorted and without white space, as `JSON.stringify` would answer it: nothing for `undefined`. `textOf`
 * may put every text into the form it is compared in.
 */
export function sortedJson(value: unknown, textOf: (text: string) => string = (text) => text): string {
  const ordered = (_key: string, field: unknown): unknown => {
    if (typeof field === 'string') return textOf(field);
    if (field === null || typeof field !== 'object' || Array.isArray(field)) return field;
    return Object.fromEntries(Object.entries(field).toSorted(([one], [other]) => (one < other ? -1 : 1)));
  };
  return JSON.stringify(value, ordered);
}

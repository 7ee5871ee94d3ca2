/** Results of pure functions, kept by their argument. */

/** The function with its last results at hand; once `max` are kept it starts over, so that strangers cannot fill it. */
export function memoised<Key extends string, Value>(max: number, make: (key: Key) => Value): (key: Key) => Value {
  const known = new Map<Key, Value>();
  return (key) => {
    const found = known.get(key);
    if (found !== undefined) return found;
    if (known.size >= max) known.clear();
    const value = make(key);
    known.set(key, value);
    return value;
  };
}

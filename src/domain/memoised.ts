/** Results that are kept: of pure functions by their argument, of makers by whom they made it for. */

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

/** The maker with what it has made at hand, one for each owner and for as long as that lives. */
export function madePer<Owner extends object, Value extends object>(
  make: (owner: Owner) => Value,
): (owner: Owner) => Value {
  const known = new WeakMap<Owner, Value>();
  return (owner) => {
    const value = known.get(owner) ?? make(owner);
    known.set(owner, value);
    return value;
  };
}

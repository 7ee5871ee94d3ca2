/** Refuses numbers in a body that would be kept as others. */
import type { Finding } from '../contracts/problem';
import { withTexts } from '../domain/exact-numbers';
import { placeOf } from '../domain/stored-names';

/** Names the first such number of a JSON text that is valid, and known not to be nested too deep. */
export function numberFindings(json: string): Finding[] {
  const numbers = new Map<unknown, string>();
  const marked = withTexts(json, (number) => {
    // No text of the body can be this one: what is sent has no lone surrogates.
    const mark = `\uD800${numbers.size}`;
    numbers.set(mark, number);
    return mark;
  });
  if (numbers.size === 0) return [];
  let found = '';
  const inValues = (value: unknown): boolean => {
    found = numbers.get(value) ?? '';
    return found !== '';
  };
  // Null where the number was one of several of a name, of which the last counts.
  const path = placeOf({ inNames: () => false, inValues }, JSON.parse(marked));
  if (path === null) return [];
  const message = `${found} is more than a number holds exactly (${Number.MAX_SAFE_INTEGER}); send it as a text`;
  return [{ path, code: 'inexact_number', message }];
}

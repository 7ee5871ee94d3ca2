/** Numbers in a body that would be kept as others: JavaScript's have 53 bits, JSON's as many as somebody wrote. */
import type { Finding } from '../contracts/problem';
import { placeOf } from './body-shape';

/** What every text has somewhere that holds such a number: few have, so few are looked through. */
const MAY_BE_INEXACT = /\d{16}|[eE]\+?\d{3}/;

export const mayBeInexact = (text: string): boolean => MAY_BE_INEXACT.test(text);

/** Strings first, so that nothing in them is taken for a number. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
const INTEGER = /^-?\d+$/;

const isInexact = (token: string): boolean => {
  if (token.startsWith('"')) return false;
  const value = Number(token);
  if (!Number.isFinite(value)) return true;
  // Beyond the safe ones some integers are still written as they were read, such as those that JavaScript has sent.
  return INTEGER.test(token) && !Number.isSafeInteger(value) && String(value) !== token;
};

/** The JSON text with each such number marked, and the numbers by their marks. */
function marked(text: string): { text: string; numbers: Map<string, string> } {
  const numbers = new Map<string, string>();
  const withMarks = text.replace(TOKENS, (token) => {
    if (!isInexact(token)) return token;
    // No text of the body can be this one: what is sent has no lone surrogates.
    const mark = `\uD800${numbers.size}`;
    numbers.set(mark, token);
    return JSON.stringify(mark);
  });
  return { text: withMarks, numbers };
}

/** Names the first such number of a JSON text that is valid, and known not to be nested too deep. */
export function numberFindings(json: string): Finding[] {
  const { text, numbers } = marked(json);
  if (numbers.size === 0) return [];
  const isMark = (value: unknown): value is string => typeof value === 'string' && numbers.has(value);
  const body: unknown = JSON.parse(text);
  let number = '';
  const inValues = (value: unknown): boolean => {
    if (!isMark(value)) return false;
    number = numbers.get(value) ?? '';
    return true;
  };
  // Null where the number was one of several of a name, of which the last counts.
  const path = placeOf({ inNames: () => false, inValues }, body);
  if (path === null) return [];
  const message = `${number} is more than a number holds exactly (${Number.MAX_SAFE_INTEGER}); send it as a text`;
  return [{ path, code: 'inexact_number', message }];
}

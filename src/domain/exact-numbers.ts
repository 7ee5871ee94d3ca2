/** Numbers in JSON that JavaScript would read as others: its own have 53 bits, JSON's as many as somebody wrote. */

/** What every text has somewhere that holds such a number: few have, so few are looked through. */
const MAY_BE_INEXACT = /\d{16}|[eE]\+?\d{3}/;

export const mayBeInexact = (json: string): boolean => MAY_BE_INEXACT.test(json);

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

/** Valid JSON with a text in the place of each such number. */
export const withTexts = (json: string, textFor: (number: string) => string): string =>
  json.replace(TOKENS, (token) => (isInexact(token) ? JSON.stringify(textFor(token)) : token));

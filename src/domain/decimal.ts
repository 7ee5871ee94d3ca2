/** Numbers that come as text. */

const DECIMAL = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;

/** The number that a text spells in decimal digits; null for anything else, such as hexadecimal or empty text. */
export function decimalOf(text: string): number | null {
  const value = DECIMAL.test(text) ? Number(text) : NaN;
  return Number.isFinite(value) ? value : null;
}

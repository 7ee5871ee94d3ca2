/** Texts as rules compare them, in one spelling for all that look the same. Safe inside workflows. */

const ASCII = /^[\x20-\x7e]*$/;

/** The spelling in which a text is compared. */
export type Spell = (text: string) => string;

/** However its letters are put together they are the same: the "ü" of one character and that of two. */
export const composed: Spell = (text) => (ASCII.test(text) ? text : text.normalize('NFC'));

/** Nor does case count: neither that of "ß" and "SS", of both small sigmas, nor of "İ" and "i". */
export const caseless: Spell = (text) =>
  ASCII.test(text) ? text.toUpperCase() : composed(text).toLowerCase().replaceAll('i\u0307', 'i').toUpperCase();

/** How texts were compared before their letters were put together. */
export const lowerCased: Spell = (text) => text.toLowerCase();
export const asWritten: Spell = (text) => text;
export const isBefore = (spell: Spell): boolean => spell === lowerCased || spell === asWritten;

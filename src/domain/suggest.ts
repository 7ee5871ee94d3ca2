/** "Did you mean …?" for names in requests and definitions. */

/** Names longer than this are not misspellings of anything. */
const WORD_MAX = 120;
const DISTANCE_MAX = 3;
const PREFIX_MIN = 3;

const plain = (name: string): string => name.toLowerCase().replace(/[^a-z0-9.]/g, '');

/** Whether the letters before two positions are the same pair in the other order. */
const isSwap = (one: string, row: number, other: string, column: number): boolean =>
  row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];

/** How many typing mistakes lie between two words: letters added, left out, replaced or swapped with their neighbour. */
function editDistance(one: string, other: string): number {
  const table = [Array.from({ length: other.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number): number => table[row]?.[column] ?? Infinity;
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    table.push(current);
    for (let column = 1; column <= other.length; column += 1) {
      const cost = one[row - 1] === other[column - 1] ? 0 : 1;
      const swapped = isSwap(one, row, other, column) ? at(row - 2, column - 2) + 1 : Infinity;
      current.push(Math.min(at(row - 1, column) + 1, at(row, column - 1) + 1, at(row - 1, column - 1) + cost, swapped));
    }
  }
  return at(one.length, other.length);
}

function closest(word: string, candidates: readonly string[]): string | undefined {
  const most = Math.min(DISTANCE_MAX, Math.floor(word.length / 3));
  let best: { candidate: string; distance: number } | undefined;
  for (const candidate of candidates) {
    const spelling = plain(candidate);
    if (Math.abs(spelling.length - word.length) > most) continue;
    const distance = editDistance(word, spelling);
    if (distance <= most && distance < (best?.distance ?? Infinity)) best = { candidate, distance };
  }
  return best?.candidate;
}

const shortest = (candidates: readonly string[]): string | undefined =>
  candidates.toSorted((one, other) => one.length - other.length)[0];

/** A name that goes on where the word stops, that the word goes on from, or that ends in the word. */
function related(word: string, candidates: readonly string[]): string | undefined {
  if (word.length < PREFIX_MIN) return undefined;
  const lastOf = (name: string): string => name.slice(name.lastIndexOf('.') + 1);
  const isTail = (name: string): boolean => name.endsWith(`.${word}`) || word.endsWith(`.${name}`);
  const isPrefix = (name: string): boolean =>
    name.startsWith(word) || (lastOf(name).length >= PREFIX_MIN && word.startsWith(name));
  const among = (test: (name: string) => boolean): string | undefined =>
    shortest(candidates.filter((candidate) => test(plain(candidate))));
  return among(isTail) ?? among(isPrefix);
}

/** The candidate that was most likely meant by `word`, if any is near enough to be worth naming. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const wanted = plain(word);
  if (wanted === '' || word.length > WORD_MAX) return undefined;
  const sameLetters = candidates.find((candidate) => plain(candidate) === wanted);
  return sameLetters ?? closest(wanted, candidates) ?? related(wanted, candidates);
}

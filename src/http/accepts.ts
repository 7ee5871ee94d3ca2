/** Which of the two error formats a client asks for: ours, or `application/problem+json` of RFC 9457. */

export const PROBLEM_TYPE = 'application/problem+json';
const ENTRIES_MAX = 32;

interface Wish {
  type: string;
  weight: number;
}

function wishOf(entry: string): Wish {
  const [type = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase());
  const quality = parameters.find((parameter) => parameter.startsWith('q='));
  const weight = quality === undefined ? 1 : Number(quality.slice(2));
  return { type, weight: weight >= 0 && weight <= 1 ? weight : 0 };
}

/**
 * True when an `Accept` header names `application/problem+json` and wants it at least as much as plain JSON. Wildcards
 * alone never ask for it: who does not know the format keeps the one the API has always answered.
 */
export function prefersProblemJson(accept: string | undefined): boolean {
  if (!accept?.toLowerCase().includes(PROBLEM_TYPE)) return false;
  const wishes = accept.split(',', ENTRIES_MAX).map(wishOf);
  const weightOf = (...types: string[]): number => {
    const found = types.flatMap((type) => wishes.find((wish) => wish.type === type) ?? []);
    return found[0]?.weight ?? 0;
  };
  const asked = weightOf(PROBLEM_TYPE);
  return asked > 0 && asked >= weightOf('application/json', 'application/*', '*/*');
}

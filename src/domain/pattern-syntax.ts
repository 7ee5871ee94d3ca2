/** Reads the pattern language of the `matches` operator. Safe inside workflows. */

/** Code points, as inclusive ranges. */
export interface CharSet {
  ranges: (readonly [number, number])[];
  negated: boolean;
}

/** A pattern as a tree. */
export type Node =
  | { kind: 'char'; set: CharSet }
  | { kind: 'assertion'; at: 'start' | 'end' | 'edge' | 'no_edge' }
  | { kind: 'sequence'; parts: Node[] }
  | { kind: 'choice'; options: Node[] }
  | { kind: 'repeat'; body: Node; min: number; max: number };

/** The longest pattern an author may write. */
const PATTERN_MAX = 200;
const COUNT_MAX = 100;
const LAST_CODE_POINT = 0x10ffff;

class PatternError extends Error {}

interface Reader {
  chars: string[];
  at: number;
  mayNest: boolean;
}

type Range = readonly [number, number];

const code = (char: string): number => char.codePointAt(0) ?? 0;
const range = (low: string, high = low): Range => [code(low), code(high)];
const SPACES = [range('\t', '\r'), range(' '), range('\u00a0'), range('\u1680'), range('\u2000', '\u200a')];
const CLASSES: Record<string, Range[]> = {
  d: [range('0', '9')],
  w: [range('0', '9'), range('A', 'Z'), range('_'), range('a', 'z')],
  s: [...SPACES, range('\u2028', '\u2029'), range('\u202f'), range('\u205f'), range('\u3000'), range('\ufeff')],
};
const LINE_ENDS = [range('\n'), range('\r'), range('\u2028', '\u2029')];
const CONTROLS: Record<string, string> = { n: '\n', r: '\r', t: '\t', f: '\f', v: '\v' };

/** The gaps between sorted ranges. */
function complement(ranges: readonly Range[]): Range[] {
  const gaps: Range[] = [];
  let next = 0;
  for (const [low, high] of ranges) {
    if (low > next) gaps.push([next, low - 1]);
    next = high + 1;
  }
  return [...gaps, [next, LAST_CODE_POINT]];
}

const peek = (reader: Reader): string | undefined => reader.chars[reader.at];

function take(reader: Reader): string {
  const char = peek(reader);
  if (char === undefined) throw new PatternError('The pattern ends too early.');
  reader.at += 1;
  return char;
}

function takeIf(reader: Reader, char: string): boolean {
  if (peek(reader) !== char) return false;
  reader.at += 1;
  return true;
}

/** What a backslash stands for: a class such as `\d`, a control character, or the next character itself. */
function readEscape(reader: Reader): Range[] {
  const char = take(reader);
  const set = CLASSES[char.toLowerCase()];
  if (set) return char === char.toLowerCase() ? set : complement(set);
  const control = CONTROLS[char];
  if (control !== undefined) return [range(control)];
  if (/[0-9]/.test(char)) throw new PatternError('Back references such as \\1 are not supported.');
  if (/[A-Za-z]/.test(char)) throw new PatternError(`\\${char} is not supported.`);
  return [range(char)];
}

function readClassMember(reader: Reader): Range[] {
  const char = take(reader);
  return char === '\\' ? readEscape(reader) : [range(char)];
}

const soleCode = (ranges: readonly Range[]): number | undefined => {
  const [first, ...others] = ranges;
  return first && others.length === 0 && first[0] === first[1] ? first[0] : undefined;
};

function readClass(reader: Reader): Node {
  const negated = takeIf(reader, '^');
  const ranges: Range[] = [];
  while (!takeIf(reader, ']')) {
    const member = readClassMember(reader);
    const isRange = peek(reader) === '-' && reader.chars[reader.at + 1] !== ']';
    if (!isRange) {
      ranges.push(...member);
      continue;
    }
    take(reader);
    const [low, high] = [soleCode(member), soleCode(readClassMember(reader))];
    if (low === undefined || high === undefined || low > high)
      throw new PatternError('A range in […] is not in order.');
    ranges.push([low, high]);
  }
  return { kind: 'char', set: { ranges, negated } };
}

function readGroup(reader: Reader): Node {
  if (takeIf(reader, '?') && !takeIf(reader, ':')) {
    throw new PatternError('Only plain groups (…) and (?:…) are supported, no look-around and no names.');
  }
  const node = readChoice(reader);
  if (!takeIf(reader, ')')) throw new PatternError('A group is not closed: a ")" is missing.');
  return node;
}

function readAtom(reader: Reader): Node {
  const char = take(reader);
  switch (char) {
    case '(':
      return readGroup(reader);
    case '[':
      return readClass(reader);
    case '.':
      return { kind: 'char', set: { ranges: LINE_ENDS, negated: true } };
    case '^':
      return { kind: 'assertion', at: 'start' };
    case '$':
      return { kind: 'assertion', at: 'end' };
    case '\\':
      if (takeIf(reader, 'b')) return { kind: 'assertion', at: 'edge' };
      if (takeIf(reader, 'B')) return { kind: 'assertion', at: 'no_edge' };
      return { kind: 'char', set: { ranges: readEscape(reader), negated: false } };
    default:
      if ('*+?'.includes(char)) throw new PatternError(`There is nothing before "${char}" that it could repeat.`);
      if ('{}]'.includes(char)) throw new PatternError(`Write \\${char} for a literal "${char}".`);
      return { kind: 'char', set: { ranges: [range(char)], negated: false } };
  }
}

const COUNTS = /^\{(\d{1,3})(,(\d{1,3})?)?\}/;

function readCounts(reader: Reader): { min: number; max: number } {
  const found = COUNTS.exec(reader.chars.slice(reader.at, reader.at + 9).join(''));
  if (!found) throw new PatternError('Write a count as {2}, {2,} or {2,5}, or \\{ for a literal "{".');
  const [all, low, comma, high] = found;
  reader.at += all.length;
  const min = Number(low);
  const max = comma === undefined ? min : high === undefined ? Infinity : Number(high);
  if (min > max) throw new PatternError(`The count ${all} is not in order.`);
  if (min > COUNT_MAX || (max !== Infinity && max > COUNT_MAX)) {
    throw new PatternError(`A count may be at most ${COUNT_MAX}.`);
  }
  return { min, max };
}

function readQuantifier(reader: Reader): { min: number; max: number } | undefined {
  if (takeIf(reader, '*')) return { min: 0, max: Infinity };
  if (takeIf(reader, '+')) return { min: 1, max: Infinity };
  if (takeIf(reader, '?')) return { min: 0, max: 1 };
  return peek(reader) === '{' ? readCounts(reader) : undefined;
}

/** Whether a node can repeat without end. */
function isUnbounded(node: Node): boolean {
  if (node.kind === 'repeat') return node.max === Infinity || isUnbounded(node.body);
  if (node.kind === 'sequence') return node.parts.some(isUnbounded);
  return node.kind === 'choice' && node.options.some(isUnbounded);
}

function readRepeat(reader: Reader): Node {
  const body = readAtom(reader);
  const counts = readQuantifier(reader);
  if (!counts) return body;
  if (body.kind === 'assertion') throw new PatternError('A position such as ^ or \\b cannot be repeated.');
  // Lazy quantifiers find the same texts; only how much they take differs, and nobody asks for that here.
  takeIf(reader, '?');
  if (!reader.mayNest && counts.max === Infinity && isUnbounded(body)) {
    throw new PatternError('A repetition inside a repetition, such as (a+)+, is not supported.');
  }
  return { kind: 'repeat', body, ...counts };
}

function readSequence(reader: Reader): Node {
  const parts: Node[] = [];
  for (let char = peek(reader); char !== undefined && char !== '|' && char !== ')'; char = peek(reader)) {
    parts.push(readRepeat(reader));
  }
  return { kind: 'sequence', parts };
}

function readChoice(reader: Reader): Node {
  const options = [readSequence(reader)];
  while (takeIf(reader, '|')) options.push(readSequence(reader));
  return options.length === 1 && options[0] ? options[0] : { kind: 'choice', options };
}

/** What a pattern may hold beyond what conditions take. */
export interface Dialect {
  /** Repetitions inside repetitions, such as (-[a-z]+)*. */
  mayNest?: boolean;
}

/** The tree of a pattern, or what is wrong with it in a sentence. */
export function parsePattern(source: string, { mayNest = false }: Dialect = {}): { node: Node } | { problem: string } {
  if (source.length > PATTERN_MAX) return { problem: `A pattern may have at most ${PATTERN_MAX} characters.` };
  const reader: Reader = { chars: Array.from(source), at: 0, mayNest };
  try {
    const node = readChoice(reader);
    if (peek(reader) === ')') return { problem: 'There is a ")" without its "(".' };
    return { node };
  } catch (error) {
    if (error instanceof PatternError) return { problem: error.message };
    throw error;
  }
}

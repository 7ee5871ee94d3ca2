/**
 * Patterns for the `matches` operator: the useful part of regular expressions, run without backtracking. A pattern is
 * translated into a small machine whose states advance together over the text, so time grows linearly with the text
 * whatever the pattern. This runs inside workflows, where a runaway expression would block the worker.
 */
import { parsePattern, type CharSet, type Dialect, type Node } from './pattern-syntax';

/** Text beyond this length is not looked at. */
const TEXT_MAX = 10_000;
/** With `TEXT_MAX`, this keeps the worst case well below the two seconds a workflow may think. */
const PROGRAM_MAX = 1_000;

type AssertionKind = Extract<Node, { kind: 'assertion' }>['at'];

type Instruction =
  | { op: 'char'; set: CharSet }
  | { op: 'split'; to: number[] }
  | { op: 'assert'; at: AssertionKind }
  | { op: 'accept' };

class ProgramTooLarge extends Error {}

function emit(program: Instruction[], instruction: Instruction): number {
  if (program.length >= PROGRAM_MAX) throw new ProgramTooLarge();
  return program.push(instruction) - 1;
}

function translateChoice(options: readonly Node[], program: Instruction[]): void {
  const exits: { to: number[] }[] = [];
  options.forEach((option, index) => {
    const isLast = index === options.length - 1;
    const fork = { op: 'split' as const, to: [program.length + 1] };
    if (!isLast) emit(program, fork);
    translate(option, program);
    if (isLast) return;
    const exit = { op: 'split' as const, to: [] };
    emit(program, exit);
    exits.push(exit);
    fork.to.push(program.length);
  });
  for (const exit of exits) exit.to.push(program.length);
}

function translateRepeat({ body, min, max }: Extract<Node, { kind: 'repeat' }>, program: Instruction[]): void {
  for (let count = 0; count < min; count += 1) {
    const before = program.length;
    translate(body, program);
    // An empty body stays empty; nested counts around it must not multiply into work without end.
    if (program.length === before) break;
  }
  if (max === Infinity) {
    const loop = { op: 'split' as const, to: [program.length + 1] };
    const start = emit(program, loop);
    translate(body, program);
    emit(program, { op: 'split', to: [start] });
    loop.to.push(program.length);
    return;
  }
  const skips: { to: number[] }[] = [];
  for (let count = min; count < max; count += 1) {
    const skip = { op: 'split' as const, to: [program.length + 1] };
    emit(program, skip);
    skips.push(skip);
    translate(body, program);
  }
  for (const skip of skips) skip.to.push(program.length);
}

function translate(node: Node, program: Instruction[]): void {
  switch (node.kind) {
    case 'char':
      emit(program, { op: 'char', set: node.set });
      return;
    case 'assertion':
      emit(program, { op: 'assert', at: node.at });
      return;
    case 'sequence':
      for (const part of node.parts) translate(part, program);
      return;
    case 'choice':
      translateChoice(node.options, program);
      return;
    case 'repeat':
      translateRepeat(node, program);
  }
}

function compile(source: string, dialect: Dialect): { program: Instruction[] } | { problem: string } {
  const parsed = parsePattern(source, dialect);
  if ('problem' in parsed) return parsed;
  const program: Instruction[] = [];
  try {
    translate(parsed.node, program);
    emit(program, { op: 'accept' });
  } catch (error) {
    if (error instanceof ProgramTooLarge) return { problem: 'The pattern repeats too much; use smaller counts.' };
    throw error;
  }
  return { program };
}

/** How much there is to do for each character of a text, at the most; 0 for a pattern that cannot be used. */
export function patternSize(source: string): number {
  const compiled = compile(source, {});
  return 'problem' in compiled ? 0 : compiled.program.length;
}

/** What is wrong with a pattern, in a sentence, or `undefined` when it can be used. */
export function patternProblem(source: string, dialect: Dialect = {}): string | undefined {
  const compiled = compile(source, dialect);
  return 'problem' in compiled ? compiled.problem : undefined;
}

function includes({ ranges }: CharSet, code: number): boolean {
  for (const [low, high] of ranges) if (low <= code && code <= high) return true;
  return false;
}

/** A character as a set is asked about it: itself and, unless case counts, its other case. */
function variantsOf(char: string, caseSensitive: boolean): number[] {
  const spellings = caseSensitive ? [char] : [...new Set([char, char.toLowerCase(), char.toUpperCase()])];
  const codes = spellings.map((spelling) => ({ code: spelling.codePointAt(0) ?? 0, length: spelling.length }));
  // A letter whose other case is several letters (ß, SS) has no other case here.
  return codes.filter(({ code, length }) => length === (code > 0xffff ? 2 : 1)).map(({ code }) => code);
}

function accepts(set: CharSet, variants: readonly number[]): boolean {
  for (const code of variants) if (includes(set, code)) return !set.negated;
  return set.negated;
}

const WORD = /^\w$/;
const isWord = (char: string | undefined): boolean => char !== undefined && WORD.test(char);

/** The text under the machine. When it was cut, its end is out of sight and `$` does not hold. */
interface Tape {
  chars: string[];
  isCut: boolean;
}

/** The states the machine is in at one position. Marks instead of a Set: this is the innermost loop. */
class States {
  readonly list: number[] = [];
  private readonly marks: Int32Array;
  private position = -1;

  constructor(size: number) {
    this.marks = new Int32Array(size).fill(-1);
  }

  moveTo(position: number): void {
    this.list.length = 0;
    this.position = position;
  }

  /** Enters a state; `false` when the machine is in it already. */
  enter(state: number): boolean {
    if (this.marks[state] === this.position) return false;
    this.marks[state] = this.position;
    return true;
  }
}

/** A program at work on a text. */
class Machine {
  private current: States;
  private next: States;
  private readonly open: number[] = [];
  /** Whether a word begins or ends at the last position that was asked for. */
  private edge = { position: -1, isEdge: false };
  private readonly program: readonly Instruction[];
  private readonly tape: Tape;

  constructor(program: readonly Instruction[], tape: Tape) {
    this.program = program;
    this.tape = tape;
    this.current = new States(program.length);
    this.next = new States(program.length);
  }

  run(caseSensitive: boolean): boolean {
    this.current.moveTo(0);
    for (let position = 0; position <= this.tape.chars.length; position += 1) {
      if (this.reach(0, this.current, position)) return true;
      const char = this.tape.chars[position];
      if (char === undefined || this.step(variantsOf(char, caseSensitive), position)) return char !== undefined;
    }
    return false;
  }

  /** Reads one character; `true` when that leads to acceptance. */
  private step(variants: readonly number[], position: number): boolean {
    this.next.moveTo(position + 1);
    for (const state of this.current.list) {
      const instruction = this.program[state];
      if (instruction?.op !== 'char' || !accepts(instruction.set, variants)) continue;
      if (this.reach(state + 1, this.next, position + 1)) return true;
    }
    [this.current, this.next] = [this.next, this.current];
    return false;
  }

  private holds(at: AssertionKind, position: number): boolean {
    const { chars, isCut } = this.tape;
    if (at === 'start') return position === 0;
    if (at === 'end') return position === chars.length && !isCut;
    if (this.edge.position !== position) {
      this.edge = { position, isEdge: isWord(chars[position - 1]) !== isWord(chars[position]) };
    }
    return this.edge.isEdge === (at === 'edge');
  }

  /** Enters a state and all it leads to without reading; `true` when that includes acceptance. */
  private reach(from: number, states: States, position: number): boolean {
    this.open.push(from);
    for (let state = this.open.pop(); state !== undefined; state = this.open.pop()) {
      const instruction = this.program[state];
      // Each state is entered once per position, which bounds the work and ends empty loops.
      if (instruction === undefined || !states.enter(state)) continue;
      if (instruction.op === 'accept') return true;
      if (instruction.op === 'char') states.list.push(state);
      else if (instruction.op === 'split') for (const target of instruction.to) this.open.push(target);
      else if (this.holds(instruction.at, position)) this.open.push(state + 1);
    }
    return false;
  }
}

/** Whether the pattern occurs anywhere in the text. A pattern that cannot be used occurs nowhere. */
export function matchesPattern(
  source: string,
  text: string,
  { caseSensitive, ...dialect }: Dialect & { caseSensitive: boolean },
): boolean {
  const compiled = compile(source, dialect);
  if ('problem' in compiled) return false;
  const tape: Tape = { chars: Array.from(text.slice(0, TEXT_MAX)), isCut: text.length > TEXT_MAX };
  return new Machine(compiled.program, tape).run(caseSensitive);
}

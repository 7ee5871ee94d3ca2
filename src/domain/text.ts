/**
 * Fills placeholders with values. Handlebars reads the text; what is left of it – paths and a few helpers – is filled in
 * here, so no code is generated from what authors write, and no object in the data can act as a function or a template.
 */
import { escapeExpression } from 'handlebars';
import { instantOf } from './conditions';
import { readSegments } from './paths';
import { readTemplate, type Argument, type HelperName, type TemplatePart } from './placeholders';
import { isTimeZone, wallClock, type WallClock } from './time-zones';

/** The most characters one rendering may produce; a payload repeated often enough would otherwise fill the memory. */
export const RENDERED_MAX = 1_048_576;
const DEPTH_MAX = 32;
const CACHED_MAX = 256;

/** A text that cannot be rendered, now or later: retrying does not help. */
export class TextError extends Error {
  readonly code: 'invalid_template' | 'text_too_large';

  constructor(code: TextError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'TextError';
    this.code = code;
  }
}

interface Budget {
  left: number;
}

function spend(budget: Budget, characters: number): void {
  budget.left -= characters;
  if (budget.left < 0) throw new TextError('text_too_large', `The text would exceed ${RENDERED_MAX} characters.`);
}

const cached = new Map<string, TemplatePart[]>();

/** The pieces of a text; the most recently used ones are kept, because an agent renders the same texts again and again. */
function partsOf(template: string): TemplatePart[] {
  const known = cached.get(template);
  const { parts, problems } = known ? { parts: known, problems: [] } : readTemplate(template);
  const [problem] = problems;
  if (problem) throw new TextError('invalid_template', problem.message);
  cached.delete(template);
  cached.set(template, parts);
  const [oldest] = cached.keys();
  if (cached.size > CACHED_MAX && oldest !== undefined) cached.delete(oldest);
  return parts;
}

function toJson(value: unknown): string {
  try {
    return JSON.stringify(value ?? null) ?? '';
  } catch (cause) {
    throw new TextError('text_too_large', 'A value is nested too deeply to be written out.', { cause });
  }
}

/** How a value reads inside a text: absent is empty, a list is separated by commas, anything else is JSON. */
function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  if (value instanceof Date) return value.toISOString();
  return Array.isArray(value) ? value.map(elementOf).join(', ') : toJson(value);
}

const elementOf = (value: unknown): string => (Array.isArray(value) ? toJson(value) : textOf(value));

const DATE_PARTS = /YYYY|MM|DD|HH|mm|ss/g;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/**
 * A date in UTC or in the zone that is named: never in the machine's, so that a text is the same on every worker. A day
 * without a time is the same day everywhere. A time that could not be moved to its zone says that it is in UTC.
 */
function formatDate(value: unknown, format?: unknown, zone?: unknown): string {
  const text = value instanceof Date ? value.toISOString() : value;
  const ms = instantOf(text);
  if (ms === undefined) return '';
  const named = typeof zone === 'string' && zone !== '' && !DAY.test(String(text)) ? zone : 'UTC';
  const clock = wallClock(ms, named);
  const wanted = typeof format === 'string' ? format : 'YYYY-MM-DD HH:mm';
  const date = wanted.replace(DATE_PARTS, (part) => clock[part as keyof WallClock]);
  return typeof format === 'string' && isTimeZone(named) ? date : `${date} ${clock.offset}`;
}

const MINOR_DIGITS = 2;
const WHOLE = /^-?\d{1,16}$/;

/** How many digits of an amount in minor units are parts of one: two in euros, none in yen. */
function minorDigits(currency: unknown): number {
  if (typeof currency !== 'string' || !/^[a-z]{3}$/i.test(currency)) return MINOR_DIGITS;
  const { maximumFractionDigits } = new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions();
  return maximumFractionDigits ?? MINOR_DIGITS;
}

/** An amount in minor units as people write it; what is none stays as it is. */
function formatMoney(value: unknown, currency?: unknown): string {
  const text = textOf(value);
  if (!WHOLE.test(text)) return text;
  const [sign, amount] = text.startsWith('-') ? ['-', text.slice(1)] : ['', text];
  const digits = minorDigits(currency);
  const padded = amount.padStart(digits + 1, '0');
  return digits === 0 ? text : `${sign}${padded.slice(0, -digits)}.${padded.slice(-digits)}`;
}

/** The beginning of a text that is too long, in whole characters. */
export function truncate(text: string, length: number): string {
  const characters = Array.from(text);
  return characters.length <= length ? text : `${characters.slice(0, Math.max(0, length - 1)).join('')}…`;
}

function lengthOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return typeof value === 'object' && value !== null ? Object.keys(value).length : Array.from(textOf(value)).length;
}

const RUN: Record<HelperName, (value: unknown, option: unknown, other: unknown) => string> = {
  default: (value, fallback) => textOf(value) || textOf(fallback),
  upper: (value) => textOf(value).toUpperCase(),
  lower: (value) => textOf(value).toLowerCase(),
  trim: (value) => textOf(value).trim(),
  truncate: (value, length) => truncate(textOf(value), Number(length) || 0),
  date: formatDate,
  money: formatMoney,
  json: toJson,
  join: (value, separator) =>
    Array.isArray(value) ? value.map(elementOf).join(textOf(separator ?? ', ')) : textOf(value),
  length: (value) => String(lengthOf(value)),
};

const read = (arg: Argument, scope: unknown): unknown => ('path' in arg ? readSegments(scope, arg.path) : arg.literal);

function fill(part: Extract<TemplatePart, { kind: 'value' }>, scope: unknown): string {
  const [first, second, third] = part.args.map((arg) => read(arg, scope));
  return part.helper ? RUN[part.helper](first, second, third) : textOf(first);
}

/** What a value must become to stand where it does. */
type Escape = (text: string) => string;
const asIs: Escape = (text) => text;

function render(template: string, scope: unknown, escape: Escape, budget: Budget): string {
  let text = '';
  for (const part of partsOf(template)) {
    const filled = part.kind === 'text' ? part.text : fill(part, scope);
    const piece = part.kind === 'value' ? escape(filled) : filled;
    spend(budget, piece.length);
    text += piece;
  }
  return text;
}

/** A text with its placeholders filled from `scope`. Absent values are empty; values are never read as templates. */
export const renderText = (template: string, scope: unknown, options: { escapeHtml: boolean }): string =>
  render(template, scope, options.escapeHtml ? escapeExpression : asIs, { left: RENDERED_MAX });

/** A text that names its values, and what stands behind each name. */
interface Apart {
  text: string;
  values: Record<string, unknown>;
}

/** A name nobody else has: the path the value comes from, numbered where it is asked for in several forms. */
function nameFor(args: readonly Argument[], taken: ReadonlyMap<string, unknown>): string | undefined {
  const source = args.find((arg) => 'path' in arg);
  if (!source) return undefined;
  const path = source.path.join('.');
  let name = path;
  for (let form = 2; taken.has(name); form += 1) name = `${path}-${form}`;
  return name;
}

/**
 * A text with each placeholder named instead of filled, and the values beside it: what came from outside never gets
 * into the text. A value without a helper stays as it is; one with a helper is the text the helper makes.
 */
export function renderApart(template: string, scope: unknown): Apart {
  const budget: Budget = { left: RENDERED_MAX };
  const names = new Map<string, string>();
  const values = new Map<string, unknown>();
  let text = '';
  for (const part of partsOf(template)) {
    if (part.kind === 'text') {
      text += part.text;
      continue;
    }
    const form = JSON.stringify([part.helper, part.args]);
    const name = names.get(form) ?? nameFor(part.args, values);
    if (name === undefined) text += fill(part, scope);
    else if (!values.has(name)) {
      const value = part.helper ? fill(part, scope) : (read(part.args[0] as Argument, scope) ?? '');
      spend(budget, typeof value === 'string' ? value.length : toJson(value).length);
      names.set(form, name);
      values.set(name, value);
    }
    if (name !== undefined) text += `[${name}]`;
  }
  return { text, values: Object.fromEntries(values) };
}

const LINE_BREAKS = /[\r\n\v\f\0\u0085\u2028\u2029]+/;

/** A text as one line, such as a subject: line breaks and the white space around them become single spaces. */
export function asOneLine(text: string): string {
  const lines = text.split(LINE_BREAKS);
  if (lines.length === 1) return text;
  return lines
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ');
}

const LONE_SURROGATE = /[\ud800-\udfff]/gu;
const encodeForUrl: Escape = (text) => encodeURIComponent(text.replace(LONE_SURROGATE, '\ufffd'));
const DOTS = /^(?:\.|%2e){1,2}$/i;
const dotsIn = (address: string): number =>
  (address.split(/[?#]/, 1)[0] ?? '').split(/[/\\]/).filter((part) => DOTS.test(part)).length;

/** True for an address whose host the author chose: values are pieces of its path or query. */
export const hasWrittenHost = (template: string): boolean => /^https?:\/\/[^{/]/i.test(template);

/**
 * An address with its placeholders filled: a value is one piece of the path or the query, whatever it holds. Throws
 * where a value would make a step back in the path, which no encoding prevents.
 */
export function renderUrl(template: string, scope: unknown): string {
  const address = render(template, scope, encodeForUrl, { left: RENDERED_MAX });
  if (dotsIn(address) > dotsIn(template))
    throw new TextError('invalid_template', 'url: a placeholder is filled with dots that would lead to another path.');
  return address;
}

/** The path of a text that is exactly one `{{path}}`. */
function solePath(template: string): readonly string[] | undefined {
  const [part, ...others] = template.includes('{{') ? partsOf(template) : [];
  if (part?.kind !== 'value' || part.helper || others.length > 0) return undefined;
  const [arg] = part.args;
  return arg && 'path' in arg ? arg.path : undefined;
}

/** The texts a template stands for: one for each element where it is exactly one `{{path}}` to a list. */
export function renderTexts(template: string, scope: unknown): string[] {
  const path = solePath(template);
  const value = path && readSegments(scope, path);
  if (!Array.isArray(value) || value.length === 0) return [renderText(template, scope, { escapeHtml: false })];
  const budget: Budget = { left: RENDERED_MAX };
  return value.map((element) => {
    const text = elementOf(element);
    spend(budget, text.length);
    return text;
  });
}

function renderString(template: string, scope: unknown, budget: Budget): unknown {
  const path = solePath(template);
  if (!path) return render(template, scope, asIs, budget);
  const value = readSegments(scope, path) ?? null;
  spend(budget, toJson(value).length);
  return value;
}

function renderDeep(value: unknown, scope: unknown, budget: Budget, depth: number): unknown {
  if (typeof value === 'string') return renderString(value, scope, budget);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= DEPTH_MAX)
    throw new TextError('invalid_template', `Values may be nested at most ${DEPTH_MAX} levels deep.`);
  if (Array.isArray(value)) return value.map((element) => renderDeep(element, scope, budget, depth + 1));
  // fromEntries defines own properties, so a key called __proto__ stays a key.
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, renderDeep(inner, scope, budget, depth + 1)]),
  );
}

/** JSON with the placeholders in its strings filled. A string that is just one `{{path}}` becomes the value itself. */
export const renderValue = (value: unknown, scope: unknown): unknown =>
  renderDeep(value, scope, { left: RENDERED_MAX }, 0);

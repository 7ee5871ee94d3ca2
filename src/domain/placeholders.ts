/** Reads the `{{…}}` placeholders of a text: paths and a fixed list of helpers, and nothing else of Handlebars. */
import { parse } from 'handlebars';
import { nearest } from './suggest';
import { isTimeZone } from './time-zones';

/** Helpers a placeholder may use, with the fewest and most arguments each takes. */
const HELPERS = {
  default: { least: 2, most: 2, example: '{{default event_payload.title "no title"}}' },
  upper: { least: 1, most: 1, example: '{{upper event_payload.title}}' },
  lower: { least: 1, most: 1, example: '{{lower event_payload.title}}' },
  trim: { least: 1, most: 1, example: '{{trim event_payload.title}}' },
  truncate: { least: 2, most: 2, example: '{{truncate event_payload.title 80}}' },
  date: { least: 1, most: 3, example: '{{date event_payload.created_at "YYYY-MM-DD HH:mm" org.timezone}}' },
  money: { least: 1, most: 2, example: '{{money event_payload.amount event_payload.currency}}' },
  json: { least: 1, most: 1, example: '{{json event_payload}}' },
  join: { least: 1, most: 2, example: '{{join event_payload.tags ", "}}' },
  length: { least: 1, most: 1, example: '{{length event_payload.tags}}' },
} as const;
export type HelperName = keyof typeof HELPERS;
/** Every helper there is. */
export const HELPER_NAMES = Object.keys(HELPERS) as HelperName[];

/** One path a text reads, where it stands (from 1) and the helper it is given to. */
export interface Placeholder {
  path: string;
  helper?: HelperName;
  line: number;
  column: number;
}

/** Why a text cannot be used. */
export interface TemplateProblem {
  code: 'invalid_template' | 'unknown_helper';
  message: string;
  suggestion?: string;
  line: number;
  column: number;
}

export type Argument = { path: readonly string[] } | { literal: string | number | boolean | null };

/** A piece of a text: fixed characters, or a value to fill in. */
export type TemplatePart =
  | { kind: 'text'; text: string }
  | { kind: 'value'; helper?: HelperName; args: Argument[]; line: number; column: number };

/** The longest text with placeholders, in characters. */
const TEMPLATE_MAX = 65_536;
const PLACEHOLDERS_MAX = 500;
const PLACEHOLDER_MAX = 500;

type Position = Pick<TemplateProblem, 'line' | 'column'>;
type Found = Omit<TemplateProblem, keyof Position>;

const invalid = (message: string): Found => ({ code: 'invalid_template', message });

function positionOf(template: string, offset: number): Position {
  const before = template.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

const QUOTED = /"[^"]*"|'[^']*'|\[[^\]]*\]/g;

/** What is wrong inside one pair of braces, before Handlebars reads it. */
function problemInside(inside: string): Found | undefined {
  if (inside.length > PLACEHOLDER_MAX) return invalid(`A placeholder may have at most ${PLACEHOLDER_MAX} characters.`);
  if (/^~?\s*[#^>*/!]/.test(inside)) {
    return invalid(
      'Blocks, partials and comments are not supported; a placeholder is a path, with or without a helper.',
    );
  }
  if (/^~?\s*[{&]/.test(inside)) {
    return invalid('Write two braces, {{path}}: the channel decides whether the value is escaped.');
  }
  const rest = inside.replace(QUOTED, '');
  if (rest.includes('(')) return invalid('A helper cannot be used inside a helper.');
  if (/["'[\]\\{]/.test(rest)) return invalid('A quote, bracket or brace inside the placeholder is not closed.');
  return undefined;
}

/**
 * Refuses what Handlebars must not see. Its parser takes minutes for 60 KB of nested blocks or sub-expressions, and a
 * pair of braces that looks closed here must also look closed there: hence no backslash and no open quote within one.
 */
function findHazard(template: string): TemplateProblem | undefined {
  if (template.length > TEMPLATE_MAX) {
    return { ...invalid(`A text may have at most ${TEMPLATE_MAX} characters.`), line: 1, column: 1 };
  }
  let count = 0;
  for (let start = template.indexOf('{{'); start !== -1; count += 1) {
    const end = template.indexOf('}}', start + 2);
    const found =
      end === -1
        ? invalid('A placeholder is not closed: "}}" is missing.')
        : count >= PLACEHOLDERS_MAX
          ? invalid(`A text may have at most ${PLACEHOLDERS_MAX} placeholders.`)
          : problemInside(template.slice(start + 2, end));
    if (found) return { ...found, ...positionOf(template, start) };
    start = template.indexOf('{{', end + 2);
  }
  return undefined;
}

/** What Handlebars says about a text it cannot read, for someone who does not know its grammar. */
function describeParseError(error: unknown, template: string): TemplateProblem {
  const text = error instanceof Error ? error.message : String(error);
  const line = Number(/Parse error on line (\d+)/.exec(text)?.[1] ?? 1);
  const say = (message: string): TemplateProblem => ({ ...invalid(message), line, column: 1 });
  if (/\}\}\}/.test(template)) return say('Put a space between the "}}" of a placeholder and a "}" that follows it.');
  if (/got 'NUMBER'/.test(text)) return say('Write a number at the end of a path in brackets, for example tags.[0].');
  if (/\{\{~?\s*~?\}\}/.test(template))
    return say('A placeholder is empty; write the path of a value, for example {{event_payload.title}}.');
  return say('A placeholder is not well formed; write {{path}} or {{helper path}}.');
}

const isPath = (node: hbs.AST.Node): node is hbs.AST.PathExpression => node.type === 'PathExpression';

/** The names of a plain path: no `@data`, no `../`, no `this`, no slashes. */
function segmentsOf(node: hbs.AST.PathExpression): string[] | undefined {
  const isPlain = !node.data && node.depth === 0 && node.parts.length > 0 && node.original === node.parts.join('.');
  return isPlain ? node.parts : undefined;
}

const NO_SUCH_PATH = invalid('Write a plain dotted path such as event_payload.title, without @, this, ../ or slashes.');

function readArgument(node: hbs.AST.Node): Argument | Found {
  if (isPath(node)) {
    const path = segmentsOf(node);
    return path ? { path } : NO_SUCH_PATH;
  }
  if (node.type === 'NullLiteral' || node.type === 'UndefinedLiteral') return { literal: null };
  if ('value' in node && ['string', 'number', 'boolean'].includes(typeof node.value)) {
    return { literal: node.value as string | number | boolean };
  }
  return invalid('A helper takes paths, texts and numbers.');
}

const isHelper = (name: string): name is HelperName => Object.hasOwn(HELPERS, name);

function unknownHelper(name: string): Found {
  const suggestion = nearest(name, HELPER_NAMES);
  const message = `"${name}" is not a helper; there are ${HELPER_NAMES.join(', ')}.`;
  return { code: 'unknown_helper', message, ...(suggestion === undefined ? {} : { suggestion }) };
}

type Value = Omit<Extract<TemplatePart, { kind: 'value' }>, keyof Position>;

function readHelper(name: string, params: readonly hbs.AST.Node[]): Value | Found {
  if (!isHelper(name)) return unknownHelper(name);
  const { least, most, example } = HELPERS[name];
  if (params.length < least || params.length > most) return invalid(`Use "${name}" like this: ${example}.`);
  const args: Argument[] = [];
  for (const param of params) {
    const arg = readArgument(param);
    if ('code' in arg) return arg;
    args.push(arg);
  }
  const zone = name === 'date' ? args[2] : undefined;
  if (zone && 'literal' in zone && !isTimeZone(String(zone.literal)))
    return invalid(`"${String(zone.literal)}" is not the name of a time zone such as Europe/Berlin.`);
  return { kind: 'value', helper: name, args };
}

function readMustache(node: hbs.AST.MustacheStatement): Value | Found {
  const target: hbs.AST.Node = node.path;
  const path = isPath(target) ? segmentsOf(target) : undefined;
  if (!path) return NO_SUCH_PATH;
  if (node.hash) return invalid('Named arguments (name=value) are not supported.');
  if (node.params.length === 0) return { kind: 'value', args: [{ path }] };
  return readHelper(path.join('.'), node.params);
}

type Statement = hbs.AST.MustacheStatement | hbs.AST.ContentStatement;

function readStatement(node: hbs.AST.Statement): TemplatePart | TemplateProblem {
  const statement = node as Statement;
  const position = { line: node.loc.start.line, column: node.loc.start.column + 1 };
  if (statement.type === 'ContentStatement') return { kind: 'text', text: statement.value };
  // findHazard lets no other statement through; should Handlebars grow one, it is refused here.
  if (statement.type !== 'MustacheStatement' || !statement.escaped) return { ...NO_SUCH_PATH, ...position };
  return { ...readMustache(statement), ...position };
}

/** The pieces of a text and everything that is wrong with it. Only a text without problems may be rendered. */
export function readTemplate(template: string): { parts: TemplatePart[]; problems: TemplateProblem[] } {
  const hazard = findHazard(template);
  if (hazard) return { parts: [], problems: [hazard] };
  if (!template.includes('{{')) return { parts: [{ kind: 'text', text: template }], problems: [] };
  const parts: TemplatePart[] = [];
  const problems: TemplateProblem[] = [];
  try {
    for (const node of parse(template).body) {
      const read = readStatement(node);
      if ('code' in read) problems.push(read);
      else parts.push(read);
    }
  } catch (error) {
    problems.push(describeParseError(error, template));
  }
  return { parts, problems };
}

/** The paths a text reads, in order. A text that cannot be read has none; `readTemplate` says what is wrong with it. */
export const placeholdersOf = (template: string): Placeholder[] =>
  readTemplate(template).parts.flatMap((part) => (part.kind === 'text' ? [] : pathsOf(part)));

/** The paths one piece of a text reads: its own, or those it gives to its helper. */
export const pathsOf = ({ args, helper, line, column }: Extract<TemplatePart, { kind: 'value' }>): Placeholder[] =>
  args.flatMap((arg) =>
    'path' in arg ? [{ path: arg.path.join('.'), ...(helper ? { helper } : {}), line, column }] : [],
  );

/** Which operators suit which type of field, and what values each operator takes. */
import type { Filter, Operator } from '../../contracts/condition';
import type { FieldType } from '../../contracts/event';
import { instantOf } from '../conditions';
import { parseDuration } from '../durations';
import { patternProblem } from '../pattern';
import { nearest } from '../suggest';
import type { Shape } from './shapes';

const ALWAYS: Operator[] = [
  'exists',
  'not_exists',
  'is_empty',
  'is_not_empty',
  'changed',
  'changed_from',
  'changed_to',
];
const SAMENESS: Operator[] = ['eq', 'neq', 'in', 'not_in'];
const ORDER: Operator[] = ['gt', 'gte', 'lt', 'lte', 'between'];
const TEXT: Operator[] = ['contains', 'not_contains', 'starts_with', 'ends_with', 'matches'];
const NUMBERS = [...SAMENESS, ...ORDER, ...ALWAYS];

const OPERATORS_OF: Record<FieldType, readonly Operator[]> = {
  string: [...SAMENESS, ...TEXT, ...ALWAYS],
  id: [...SAMENESS, 'starts_with', ...ALWAYS],
  enum: [...SAMENESS, ...ALWAYS],
  number: NUMBERS,
  integer: NUMBERS,
  money: NUMBERS,
  boolean: ['eq', 'neq', ...ALWAYS],
  datetime: ['eq', 'neq', 'before', 'after', 'between', 'within_last', ...ALWAYS],
  array: ['contains', 'not_contains', 'in', 'not_in', ...ALWAYS],
};

/** What an author who chose an operator of another type most likely wanted, best first. */
const MEANT: Partial<Record<Operator, readonly Operator[]>> = {
  eq: ['contains'],
  neq: ['not_contains'],
  in: ['eq'],
  not_in: ['neq'],
  gt: ['after'],
  gte: ['after'],
  lt: ['before'],
  lte: ['before'],
  before: ['lt'],
  after: ['gt'],
  within_last: ['gte'],
  contains: ['eq'],
  not_contains: ['neq'],
  matches: ['starts_with', 'in'],
  starts_with: ['in'],
  ends_with: ['in'],
};

const typeOf = (shape: Shape): FieldType | undefined => {
  if (shape.kind === 'list') return 'array';
  return shape.kind === 'value' ? shape.type : undefined;
};

/** What is wrong, and what was probably meant. */
export interface Flaw {
  message: string;
  suggestion?: string | undefined;
}

/** Why an operator cannot be used on a field of this shape. */
export function operatorFlaw({ field, operator }: Filter, shape: Shape): Flaw | undefined {
  if (shape.kind === 'object') {
    if (ALWAYS.includes(operator)) return undefined;
    return { message: `"${field}" is an object; compare one of its members, or use exists or is_empty.` };
  }
  const type = typeOf(shape);
  if (type === undefined || OPERATORS_OF[type].includes(operator)) return undefined;
  const allowed = OPERATORS_OF[type];
  return {
    message: `"${operator}" cannot be used on the ${type} field "${field}"; use ${allowed.join(', ')}.`,
    suggestion: MEANT[operator]?.find((candidate) => allowed.includes(candidate)),
  };
}

type Check = (value: unknown, shape: Shape) => Flaw | undefined;

const unless = (isFine: boolean, message: string): Flaw | undefined => (isFine ? undefined : { message });
const isScalar = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value);

function enumFlaw(value: unknown, values: readonly string[]): Flaw | undefined {
  if (typeof value === 'string' && values.includes(value)) return undefined;
  const suggestion = typeof value === 'string' ? nearest(value, values) : undefined;
  return { message: `The value must be one of ${values.join(', ')}.`, suggestion };
}

const aText: Check = (value) => unless(typeof value === 'string' && value !== '', 'The value must be a text.');
const aNumber: Check = (value) =>
  unless(typeof value === 'number' && Number.isFinite(value), 'The value must be a number.');
const aDate: Check = (value) =>
  unless(instantOf(value) !== undefined, 'The value must be an ISO 8601 date, for example 2026-11-20T09:00:00Z.');

const ONE: Partial<Record<FieldType, Check>> = {
  string: (value) => unless(typeof value === 'string', 'The value must be a text.'),
  id: (value) => unless(typeof value === 'string', 'The value must be an id, as a text.'),
  number: aNumber,
  integer: aNumber,
  money: (value) => unless(typeof value === 'number', 'The value must be an amount in minor units, for example 12550.'),
  boolean: (value) => unless(typeof value === 'boolean', 'The value must be true or false.'),
  datetime: aDate,
};

const aScalar: Check = (value, shape) => {
  if (value === undefined) return { message: 'The operator needs a value.' };
  if (shape.kind === 'value' && shape.type === 'enum') return enumFlaw(value, shape.enumValues ?? []);
  const check = ONE[typeOf(shape) ?? 'array'];
  return check ? check(value, shape) : unless(isScalar(value), 'The value must be a text, a number or true or false.');
};

/** Comparing with null asks whether the field is absent. */
const aScalarOrNull: Check = (value, shape) => (value === null ? undefined : aScalar(value, shape));

/** What a list can hold, or a part of a text. A field that nobody knows may be either. */
const aMember: Check = (value, shape) => {
  const mayBeList = shape.kind === 'list' || (shape.kind === 'any' && typeof value !== 'string');
  return mayBeList ? aScalar(value, shape) : aText(value, shape);
};

const LIST_MAX = 200;

const aList: Check = (value, shape) => {
  if (!Array.isArray(value) || value.length === 0 || value.length > LIST_MAX) {
    return { message: `The value must be a list of 1 to ${LIST_MAX} values, for example ["high", "critical"].` };
  }
  return value.map((one: unknown) => aScalar(one, shape)).find((flaw) => flaw !== undefined);
};

/** What a field was or became: of a list all of it, as one of its members is never equal to it. */
const aState: Check = (value, shape) => {
  if (shape.kind !== 'list' || value === null) return aScalarOrNull(value, shape);
  return aList(value, shape) && { message: 'The value must be the whole list, for example ["vpn", "wifi"], or null.' };
};

const aPair: Check = (value) => {
  const pair: unknown[] = Array.isArray(value) && value.length === 2 ? value : [];
  const points = pair.every((point) => typeof point === 'number') ? pair : pair.map(instantOf);
  const [low, high] = points;
  const isOrdered = typeof low === 'number' && typeof high === 'number' && low <= high;
  return unless(isOrdered, 'The value must be [lowest, highest]: two numbers or two dates in order.');
};

const nothing: Check = (value) => unless(value === undefined, 'The operator takes no value; leave "value" out.');

const aPattern: Check = (value) => {
  const problem = typeof value === 'string' ? patternProblem(value) : 'The value must be a pattern, as a text.';
  return problem === undefined ? undefined : { message: problem };
};

const aDuration: Check = (value) =>
  unless(parseDuration(value) !== undefined, 'The value must be a length of time such as 30m, 24h or 7d.');

const VALUE: Record<Operator, Check> = {
  eq: aScalarOrNull,
  neq: aScalarOrNull,
  gt: aNumber,
  gte: aNumber,
  lt: aNumber,
  lte: aNumber,
  in: aList,
  not_in: aList,
  between: aPair,
  contains: aMember,
  not_contains: aMember,
  starts_with: aText,
  ends_with: aText,
  matches: aPattern,
  exists: nothing,
  not_exists: nothing,
  is_empty: nothing,
  is_not_empty: nothing,
  before: aDate,
  after: aDate,
  within_last: aDuration,
  changed: nothing,
  changed_from: aState,
  changed_to: aState,
};

/** Why a value does not suit its operator and field. */
export const valueFlaw = ({ operator, value }: Filter, shape: Shape): Flaw | undefined => VALUE[operator](value, shape);

/** Holds a rule against data, the same way in the matcher, in workflows and in dry runs. Safe inside workflows. */
import type { Condition, Filter, Operator } from '../contracts/condition';
import { clockFacts, OFFSETS } from './clock-facts';
import { parseDuration } from './durations';
import { readPath } from './paths';
import { matchesPattern } from './pattern';
import { asWritten, caseless, composed, isBefore, lowerCased, type Spell } from './spelling';

/** Whether a rule held and, if not, which one failed and what it saw. For a group, `actual` is a map of its fields. */
export type Verdict = { holds: true } | { holds: false; rule: Condition; actual: unknown };

/** Where a rule's fields are looked up. Filters name payload fields; conditions name roots such as `event_payload`. */
interface Frame {
  data: unknown;
  now: Date;
  roots: boolean;
  /** Compares texts as releases did that knew no other forms of letters. */
  asBefore?: boolean;
}

interface Comparison {
  actual: unknown;
  expected: unknown;
  exact: boolean;
  spell: Spell;
  now: Date;
}

type ChangeOperator = 'changed' | 'changed_from' | 'changed_to';
type Compare = (comparison: Comparison) => boolean;

const HOLDS: Verdict = { holds: true };
/** Structures in conditions are shallow; deeper ones count as different instead of exhausting the stack. */
const DEPTH_MAX = 16;
const NUMBER_TEXT = /^-?\d{1,15}(\.\d{1,9})?$/;
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?$/i;
const ZONE = /(Z|[+-]\d{2}:\d{2})$/i;

const isAbsent = (value: unknown): value is null | undefined => value === undefined || value === null;
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** A number, or text that spells one: products write decimals either way. */
function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  return typeof value === 'string' && NUMBER_TEXT.test(value) ? Number(value) : undefined;
}

/** Milliseconds of an ISO 8601 date or date-time. Without a zone it means UTC, not the machine's own zone. */
export function instantOf(value: unknown): number | undefined {
  if (typeof value !== 'string' || !(DATE.test(value) || DATE_TIME.test(value))) return undefined;
  const ms = Date.parse(DATE.test(value) || ZONE.test(value) ? value : `${value}Z`);
  return Number.isNaN(ms) ? undefined : ms;
}

function sameText(one: string, other: string, spell: Spell): boolean {
  if (spell(one) === spell(other)) return true;
  return DATE_TIME.test(one) && DATE_TIME.test(other) && instantOf(one) === instantOf(other);
}

function sameStructure(
  one: Record<string, unknown>,
  other: Record<string, unknown>,
  same: (one: unknown, other: unknown) => boolean,
): boolean {
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && same(one[key], other[key]))
  );
}

function sameScalar(one: unknown, other: unknown): boolean {
  if (typeof one !== 'number' && typeof other !== 'number') return one === other;
  const number = numberOf(one);
  return number !== undefined && number === numberOf(other);
}

/** Equality as authors mean it: absent is null, `5` is `"5"`, text is the same in the same spelling. */
function sameValue(one: unknown, other: unknown, spell: Spell, depth = 0): boolean {
  if (isAbsent(one) || isAbsent(other)) return isAbsent(one) && isAbsent(other);
  if (typeof one === 'string' && typeof other === 'string') return sameText(one, other, spell);
  if (!isObject(one) || !isObject(other)) return sameScalar(one, other);
  return depth < DEPTH_MAX && sameStructure(one, other, (left, right) => sameValue(left, right, spell, depth + 1));
}

const isOneOf: Compare = ({ actual, expected, spell }) => {
  if (!Array.isArray(expected)) return false;
  const values: unknown[] = Array.isArray(actual) ? actual : [actual];
  return values.some((value) => expected.some((candidate) => sameValue(value, candidate, spell)));
};

const contains: Compare = ({ actual, expected, spell }) => {
  if (Array.isArray(actual)) return actual.some((element) => sameValue(element, expected, spell));
  return typeof actual === 'string' && typeof expected === 'string' && spell(actual).includes(spell(expected));
};

function isEmpty(value: unknown): boolean {
  if (isAbsent(value)) return true;
  if (typeof value === 'string') return value.trim() === '';
  return isObject(value) && Object.keys(value).length === 0;
}

const onNumbers =
  (compare: (actual: number, expected: number) => boolean): Compare =>
  ({ actual, expected }) => {
    const [left, right] = [numberOf(actual), numberOf(expected)];
    return left !== undefined && right !== undefined && compare(left, right);
  };

const onTexts =
  (compare: (actual: string, expected: string) => boolean): Compare =>
  ({ actual, expected, spell }) =>
    typeof actual === 'string' && typeof expected === 'string' && compare(spell(actual), spell(expected));

const onInstants =
  (compare: (actual: number, expected: number) => boolean): Compare =>
  ({ actual, expected }) => {
    const [left, right] = [instantOf(actual), instantOf(expected)];
    return left !== undefined && right !== undefined && compare(left, right);
  };

const isBetween: Compare = ({ actual, expected }) => {
  if (!Array.isArray(expected) || expected.length !== 2) return false;
  const trio: unknown[] = [expected[0], actual, expected[1]];
  const liesWithin = (points: (number | undefined)[]): boolean => {
    const [low, value, high] = points;
    return low !== undefined && value !== undefined && high !== undefined && low <= value && value <= high;
  };
  return liesWithin(trio.map(numberOf)) || liesWithin(trio.map(instantOf));
};

const isWithinLast: Compare = ({ actual, expected, now }) => {
  const [at, length] = [instantOf(actual), parseDuration(expected)];
  if (at === undefined || length === undefined) return false;
  return at <= now.getTime() && at >= now.getTime() - length;
};

const matches: Compare = ({ actual, expected, exact, spell }) =>
  typeof actual === 'string' &&
  typeof expected === 'string' &&
  matchesPattern(expected, isBefore(spell) ? actual : composed(actual), { caseSensitive: exact });

const not =
  (compare: Compare): Compare =>
  (comparison) =>
    !compare(comparison);

const equals: Compare = ({ actual, expected, spell }) => sameValue(actual, expected, spell);

const COMPARE: Record<Exclude<Operator, ChangeOperator>, Compare> = {
  eq: equals,
  neq: not(equals),
  gt: onNumbers((actual, expected) => actual > expected),
  gte: onNumbers((actual, expected) => actual >= expected),
  lt: onNumbers((actual, expected) => actual < expected),
  lte: onNumbers((actual, expected) => actual <= expected),
  in: isOneOf,
  not_in: not(isOneOf),
  between: isBetween,
  contains,
  not_contains: not(contains),
  starts_with: onTexts((actual, expected) => actual.startsWith(expected)),
  ends_with: onTexts((actual, expected) => actual.endsWith(expected)),
  matches,
  exists: ({ actual }) => !isAbsent(actual),
  not_exists: ({ actual }) => isAbsent(actual),
  is_empty: ({ actual }) => isEmpty(actual),
  is_not_empty: ({ actual }) => !isEmpty(actual),
  before: onInstants((actual, expected) => actual < expected),
  after: onInstants((actual, expected) => actual > expected),
  within_last: isWithinLast,
};

const isChange = (operator: Operator): operator is ChangeOperator =>
  operator === 'changed' || operator === 'changed_from' || operator === 'changed_to';

const PAYLOAD = 'event_payload.';

/** Where the envelope of an update event says what changed, for a field as filters or as conditions spell it. */
function envelopeOf(field: string): { name: string; changed: string; previous: string } {
  const prefix = field.startsWith(PAYLOAD) ? PAYLOAD : '';
  const name = field.slice(prefix.length);
  return { name, changed: `${prefix}changed`, previous: `${prefix}previous.${name}` };
}

/** A field changed when it, its parent or one of its members is listed; without a list, when its old value is known. */
function didChange(name: string, changed: unknown, previous: unknown): boolean {
  if (!Array.isArray(changed)) return previous !== undefined;
  return changed.some(
    (entry) =>
      typeof entry === 'string' && (entry === name || name.startsWith(`${entry}.`) || entry.startsWith(`${name}.`)),
  );
}

const lookUp = (frame: Frame, path: string): unknown =>
  frame.roots && path.startsWith('now.')
    ? readPath({ now: clockFacts(frame.now, readPath(frame.data, OFFSETS)) }, path)
    : readPath(frame.data, path);

function spellOf({ case_sensitive: exact }: Filter, { asBefore }: Frame): Spell {
  if (exact) return asBefore ? asWritten : composed;
  return asBefore ? lowerCased : caseless;
}

function checkChange(rule: Filter, frame: Frame): Verdict {
  const envelope = envelopeOf(rule.field);
  const changed = lookUp(frame, envelope.changed);
  const previous = lookUp(frame, envelope.previous);
  const seen = { changed, changed_from: previous, changed_to: lookUp(frame, rule.field) }[
    rule.operator as ChangeOperator
  ];
  const holds =
    didChange(envelope.name, changed, previous) &&
    (rule.operator === 'changed' || sameValue(seen, rule.value, spellOf(rule, frame)));
  return holds ? HOLDS : { holds, rule, actual: seen };
}

function checkRule(rule: Filter, frame: Frame): Verdict {
  if (isChange(rule.operator)) return checkChange(rule, frame);
  const actual = lookUp(frame, rule.field);
  // A rule with an operator this release does not know never holds: an agent must not run by mistake.
  const compare = Object.hasOwn(COMPARE, rule.operator) ? COMPARE[rule.operator] : () => false;
  const exact = rule.case_sensitive === true;
  const holds = compare({ actual, expected: rule.value, exact, spell: spellOf(rule, frame), now: frame.now });
  return holds ? HOLDS : { holds, rule, actual };
}

function check(condition: Condition, frame: Frame): Verdict {
  if ('all' in condition) return checkAll(condition.all, frame);
  if ('any' in condition) {
    return condition.any.some((member) => check(member, frame).holds) ? HOLDS : failedGroup(condition, frame);
  }
  if ('not' in condition) return check(condition.not, frame).holds ? failedGroup(condition, frame) : HOLDS;
  return checkRule(condition, frame);
}

function checkAll(conditions: readonly Condition[], frame: Frame): Verdict {
  for (const condition of conditions) {
    const verdict = check(condition, frame);
    if (!verdict.holds) return verdict;
  }
  return HOLDS;
}

const failedGroup = (rule: Condition, frame: Frame): Verdict => ({
  holds: false,
  rule,
  actual: Object.fromEntries(pathsAsked(rule).map((path) => [path, lookUp(frame, path)])),
});

/** Evaluates a condition over its roots (`event_payload`, `event`, `org`, `steps`, `vars`); `now.*` comes from `now`. */
export const evaluate = (condition: Condition, scope: unknown, now: Date): Verdict =>
  check(condition, { data: scope, now, roots: true });

/** The same as releases before did: a workflow that began then must go on as it did. */
export const evaluateAsBefore = (condition: Condition, scope: unknown, now: Date): Verdict =>
  check(condition, { data: scope, now, roots: true, asBefore: true });

/** Holds a trigger's filters against the event's payload; all must hold, and none holds for every event. */
export const matchesFilters = (filters: readonly Filter[], payload: unknown, now: Date): Verdict =>
  checkAll(filters, { data: payload, now, roots: false });

/** The paths a condition reads, each once, with those of the change envelope where an operator needs them. */
export function pathsAsked(condition: Condition): string[] {
  if ('all' in condition) return [...new Set(condition.all.flatMap(pathsAsked))];
  if ('any' in condition) return [...new Set(condition.any.flatMap(pathsAsked))];
  if ('not' in condition) return pathsAsked(condition.not);
  if (!isChange(condition.operator)) return [condition.field];
  const { changed, previous } = envelopeOf(condition.field);
  return [...(condition.operator === 'changed_to' ? [condition.field] : []), changed, previous];
}

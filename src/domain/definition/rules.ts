/** Checks filters and conditions: the field exists, the operator suits it, the value suits both. */
import type { Condition, Filter } from '../../contracts/condition';
import { patternSize } from '../pattern';
import { below, type Findings } from './findings';
import { nearestPath } from './near-path';
import { operatorFlaw, valueFlaw } from './operators';
import { shapeAt, type Shape } from './shapes';

/** Every rule may be held against every event, and a pattern of this size takes half a second for the longest text. */
const PATTERN_SIZE_MAX = 500;

/** Groups inside groups beyond this are a mistake nobody could read. */
const NESTING_MAX = 8;

const PAYLOAD = 'event_payload.';

/** Refuses the pattern with which those of a definition, or of a webhook, become too much to do. */
export function checkPatternSize({ operator, value }: Filter, pointer: string, findings: Findings): void {
  if (operator !== 'matches' || typeof value !== 'string' || findings.patternSize > PATTERN_SIZE_MAX) return;
  findings.patternSize += patternSize(value);
  if (findings.patternSize <= PATTERN_SIZE_MAX) return;
  findings.add({
    path: below(pointer, 'value'),
    code: 'invalid_value',
    message: `The patterns are too large together: ${findings.patternSize} characters and choices with all repetitions written out, of at most ${PATTERN_SIZE_MAX}. Use fewer, or smaller counts.`,
  });
}

function checkRule(rule: Filter, pointer: string, root: Shape, findings: Findings): void {
  const shape = shapeAt(root, rule.field.split('.'));
  if (!shape) {
    // Filters and payload fields are data of the event; all else names what the platform provides.
    const isPayload =
      root.kind !== 'object' || !Object.hasOwn(root.members, 'event_payload') || rule.field.startsWith(PAYLOAD);
    findings.add({
      path: below(pointer, 'field'),
      code: isPayload ? 'unknown_field' : 'unknown_reference',
      message: `"${rule.field}" is not a field this rule can read.`,
      suggestion: nearestPath(rule.field, root),
    });
    return;
  }
  const mismatch = operatorFlaw(rule, shape);
  if (mismatch) findings.add({ path: below(pointer, 'operator'), code: 'operator_type_mismatch', ...mismatch });
  const flaw = mismatch ? undefined : valueFlaw(rule, shape);
  if (flaw) findings.add({ path: below(pointer, 'value'), code: 'invalid_value', ...flaw });
  else checkPatternSize(rule, pointer, findings);
}

interface Place {
  pointer: string;
  depth: number;
}

function checkNested(condition: Condition, { pointer, depth }: Place, root: Shape, findings: Findings): void {
  if (findings.isFull) return;
  if (depth > NESTING_MAX) {
    findings.add({
      path: pointer,
      code: 'too_deep',
      message: `Conditions may be nested at most ${NESTING_MAX} levels deep.`,
    });
    return;
  }
  const inside = (inner: Condition, ...parts: (string | number)[]): void =>
    checkNested(inner, { pointer: below(pointer, ...parts), depth: depth + 1 }, root, findings);
  if ('all' in condition) condition.all.forEach((inner, index) => inside(inner, 'all', index));
  else if ('any' in condition) condition.any.forEach((inner, index) => inside(inner, 'any', index));
  else if ('not' in condition) inside(condition.not, 'not');
  else checkRule(condition, pointer, root, findings);
}

/** Checks a condition whose fields are paths of `root`. */
export const checkCondition = (condition: Condition, pointer: string, root: Shape, findings: Findings): void =>
  checkNested(condition, { pointer, depth: 1 }, root, findings);

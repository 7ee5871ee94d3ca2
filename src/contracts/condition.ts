/** Rules over data: trigger filters, agent conditions, a step's `when` and a branch's choice share one grammar. */
import { PLACE_PATTERN } from './patterns';
import { Anything, Closed, Enum, Reference, SHOWN_AS, Type, type Static } from './schema';

export const OPERATORS = [
  'eq',
  'neq',
  'gt',
  'gte',
  'lt',
  'lte',
  'in',
  'not_in',
  'between',
  'contains',
  'not_contains',
  'starts_with',
  'ends_with',
  'matches',
  'exists',
  'not_exists',
  'is_empty',
  'is_not_empty',
  'before',
  'after',
  'within_last',
  'changed',
  'changed_from',
  'changed_to',
] as const;
export type Operator = (typeof OPERATORS)[number];

export const FieldPath = Type.String({
  pattern: PLACE_PATTERN,
  maxLength: 200,
  description: 'Dotted path, for example `priority` or `steps.triage.output.label`',
});

/** One comparison on the trigger event's payload; a trigger's filters must all hold. */
export const Filter = Closed(
  {
    field: FieldPath,
    operator: Enum(OPERATORS),
    value: Type.Optional(Anything({ description: 'What to compare with; its shape follows the operator' })),
    case_sensitive: Type.Optional(Type.Boolean({ description: 'Text comparisons ignore case unless this is true' })),
  },
  { $id: 'Filter' },
);
export type Filter = Static<typeof Filter>;

/** A comparison or a group of them. */
export type Condition = Filter | { all: Condition[] } | { any: Condition[] } | { not: Condition };

/** The names are for generators of clients, some of which leave out whatever contains itself without one. */
const group = (key: string, name: string, schema: object) => ({
  [SHOWN_AS]: name,
  type: 'object',
  additionalProperties: false,
  required: [key],
  properties: { [key]: schema },
});
const members = { type: 'array', minItems: 1, maxItems: 20, items: { $ref: 'Condition' } };

export const Condition = Type.Unsafe<Condition>({
  $id: 'Condition',
  description: 'A rule `{field, operator, value}` or a group `{all: […]}`, `{any: […]}`, `{not: …}`',
  type: 'object',
  oneOf: [
    { $ref: 'Filter' },
    group('all', 'AllConditions', members),
    group('any', 'AnyCondition', members),
    group('not', 'NotCondition', { $ref: 'Condition' }),
  ],
});
export const ConditionReference = () => Reference<Condition>('Condition');

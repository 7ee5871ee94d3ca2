/** Custom fields: what a tenant keeps with a record and this product has no field for. Scalars by key, nothing else. */
import { CUSTOM_KEY as KEY } from '../contracts/patterns';
import { Type } from '../contracts/schema';

/** A value of a custom field. */
export type CustomValue = string | number | boolean;

/** The custom fields of a record, by key. */
export type CustomFields = Readonly<Record<string, CustomValue>>;

export const CUSTOM_FIELDS_MAX = 50;
const TEXT_MAX = 1_000;

const OPERATORS = ['ne', 'in', 'nin', 'gt', 'gte', 'lt', 'lte', 'startsWith'] as const;

type Operator = 'eq' | 'exists' | (typeof OPERATORS)[number];

/** What a record shows. */
export const shownCustomFields = Type.Unsafe<CustomFields>({
  type: 'object',
  maxProperties: CUSTOM_FIELDS_MAX,
  propertyNames: { pattern: `^${KEY}$` },
  additionalProperties: { type: ['string', 'number', 'boolean'], maxLength: TEXT_MAX },
  description: 'Your own fields by key',
});

/** What a write may send. */
export const sentCustomFields = Type.Unsafe<Readonly<Record<string, CustomValue | null>>>({
  type: 'object',
  maxProperties: 2 * CUSTOM_FIELDS_MAX,
  propertyNames: { pattern: `^${KEY}$` },
  additionalProperties: { type: ['string', 'number', 'boolean', 'null'], maxLength: TEXT_MAX },
  description: `Your own fields by key, at most ${CUSTOM_FIELDS_MAX} in a record; keys not sent stay, \`null\` removes one`,
});

/** The parameters that filter by custom fields, by pattern: no list knows their keys. */
export const customParameters: Readonly<Record<string, object>> = {
  [`^cf\\.${KEY}(\\.(${OPERATORS.join('|')}))?$`]: { type: 'string', minLength: 1, maxLength: TEXT_MAX },
  [`^cf\\.${KEY}\\.exists$`]: { type: 'boolean' },
};

/** The key and the operator of such a parameter; null for any other. */
export function customParameter(name: string): { key: string; operator: Operator } | null {
  const [prefix, key, operator] = name.split('.');
  return prefix === 'cf' && key ? { key, operator: (operator ?? 'eq') as Operator } : null;
}

/** The fields after a write: sent keys replace, `null` removes, the rest stays. */
export function mergedCustomFields(before: CustomFields, sent: unknown): CustomFields {
  const merged = new Map<string, unknown>([...Object.entries(before), ...Object.entries(sent ?? {})]);
  return Object.fromEntries([...merged].filter(([, value]) => value !== null)) as CustomFields;
}

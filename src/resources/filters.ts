/** Row → query parameters: which fields a list can be filtered and sorted by, and how each parameter is read. */
import { EXTERNAL_REF_PATTERN, SYSTEM_PATTERN } from '../contracts/patterns';
import { Type, type TSchema } from '../contracts/schema';
import { field, type Field, type FieldKind, type ValueSchema } from './field';
import type { Resource } from './resource';

/** What a parameter's suffix asks for; `eq` is the bare name. */
export type FilterOperator = 'eq' | 'ne' | 'in' | 'nin' | 'gt' | 'gte' | 'lt' | 'lte' | 'startsWith' | 'exists';

/** A parameter of a list. */
export interface FilterParameter {
  /** As clients write it: `status`, `dueAt.gte`. */
  name: string;
  field: string;
  kind: FieldKind;
  operator: FilterOperator;
  /** Several values, separated by commas. */
  isList: boolean;
  /** Records have it in lower case, however it is asked for. */
  isLowerCased: boolean;
  /** JSON Schema of one value. */
  value: ValueSchema;
}

/** Marks a parameter that takes several values, for the documentation; ajv and JSON do not see symbols. */
export const LIST_ITEMS = Symbol('values of a comma-separated parameter');

const RANGE = ['gt', 'gte', 'lt', 'lte'] as const;

const OPERATORS: Record<FieldKind, readonly FilterOperator[]> = {
  string: ['eq', 'ne', 'in', 'nin', 'startsWith', 'exists'],
  choice: ['eq', 'ne', 'in', 'nin', 'exists'],
  id: ['eq', 'ne', 'in', 'nin', 'exists'],
  integer: ['eq', 'ne', 'in', 'nin', ...RANGE, 'exists'],
  boolean: ['eq', 'ne', 'exists'],
  datetime: ['eq', 'ne', ...RANGE, 'exists'],
  date: ['eq', 'ne', ...RANGE, 'exists'],
  strings: ['eq', 'ne', 'in', 'nin', 'exists'],
  json: [],
};

/** Fields every record has that lists know. */
const COMMON: Readonly<Record<string, Field>> = {
  createdAt: field.datetime().required().filterable().sortable(),
  updatedAt: field.datetime().required().filterable().sortable(),
};

const EXTERNAL_REF: FilterParameter = {
  name: 'externalRefs',
  field: 'externalRefs',
  kind: 'string',
  operator: 'eq',
  isList: false,
  isLowerCased: false,
  value: { type: 'string', maxLength: 241, pattern: EXTERNAL_REF_PATTERN, description: '`<system>:<id>`' },
};

const EXTERNAL_SYSTEM: FilterParameter = {
  ...EXTERNAL_REF,
  name: 'externalRefs.system',
  field: 'externalRefs.system',
  value: { type: 'string', pattern: SYSTEM_PATTERN, description: 'Records with a name in this system' },
};

/** Commas mean "one of" wherever a value itself cannot hold one. */
const takesList = (kind: FieldKind, operator: FilterOperator): boolean =>
  operator === 'in' || operator === 'nin' || (operator === 'eq' && (kind === 'choice' || kind === 'id'));

/** One value to compare with; a value that no record can have is a mistake only where the type says so. */
function comparable({ kind, schema }: Field['traits'], operator: FilterOperator): ValueSchema {
  if (operator === 'exists') return { type: 'boolean' };
  if (kind === 'string') return { type: 'string', minLength: 1, maxLength: 255 };
  if (kind === 'strings') return { type: 'string', minLength: 1, maxLength: 255 };
  if (kind === 'integer') return { type: 'integer' };
  const { default: _default, description: _description, ...value } = schema;
  return value;
}

function parametersOf(name: string, declared: Field): FilterParameter[] {
  const { traits } = declared;
  return OPERATORS[traits.kind]
    .filter((operator) => operator !== 'exists' || declared.isNullable || traits.kind === 'strings')
    .map((operator) => ({
      name: operator === 'eq' ? name : `${name}.${operator}`,
      field: name,
      kind: traits.kind,
      operator,
      isList: takesList(traits.kind, operator),
      isLowerCased: traits.isLowerCased,
      value: comparable(traits, operator),
    }));
}

const known = new Map<Resource, readonly FilterParameter[]>();

/** Every filter a list of the resource takes. */
export function filterParameters(row: Resource): readonly FilterParameter[] {
  const before = known.get(row);
  if (before) return before;
  const fields = Object.entries({ ...row.fields, ...COMMON }).filter(([, declared]) => declared.traits.isFilterable);
  const parameters = [
    ...fields.flatMap(([name, declared]) => parametersOf(name, declared)),
    EXTERNAL_REF,
    EXTERNAL_SYSTEM,
  ];
  known.set(row, parameters);
  return parameters;
}

/** A field that lists can be ordered by. */
export interface SortField {
  kind: FieldKind;
  isNullable: boolean;
}

/** Every field a list of the resource can be ordered by; each has an index. */
export const sortFields = (row: Resource): ReadonlyMap<string, SortField> =>
  new Map(
    Object.entries({ ...row.fields, ...COMMON })
      .filter(([, declared]) => declared.traits.isSortable)
      .map(([name, declared]) => [name, { kind: declared.traits.kind, isNullable: declared.isNullable }]),
  );

/** The values of a field that takes only these, in the order in which they are declared; null for any other field. */
export const choicesOf = (row: Resource, name: string): readonly string[] | null => {
  const traits = row.fields[name]?.traits;
  return traits?.kind === 'choice' ? (traits.schema['enum'] as string[]) : null;
};

const LIST_LENGTH_MAX = 4_000;

/** The query parameter as the validator sees it; lists are read apart by the service. */
export const parameterSchema = ({ isList, value }: FilterParameter): TSchema =>
  isList
    ? Type.Unsafe({ type: 'string', minLength: 1, maxLength: LIST_LENGTH_MAX, [LIST_ITEMS]: value })
    : Type.Unsafe({ ...value });

/** What lists promise, said again without the store: which records a filter finds, and in which order they come. */
import {
  choicesOf,
  filterParameters,
  sortFields,
  type FilterOperator,
  type FilterParameter,
} from '../../src/resources/filters';
import type { AnyRecord, Resource } from '../../src/resources/resource';

/** A record, or what is left of one. */
export interface Kept {
  record: AnyRecord;
  isDeleted: boolean;
}

export interface Asked {
  orderBy: string;
  direction: 'asc' | 'desc';
  includeDeleted: boolean;
  filter: Filter;
}

export interface Filter {
  /** As it stands in the address; empty for none. */
  query: string;
  holds: (record: AnyRecord) => boolean;
}

const NONE: Filter = { query: '', holds: () => true };

const rank = (value: unknown): number => (value === null ? 0 : 1);

/** Nulls before everything, numbers by size, texts by their bytes. */
function compareValues(one: unknown, other: unknown): number {
  if (one === null || other === null) return rank(one) - rank(other);
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  return Buffer.compare(Buffer.from(one as string), Buffer.from(other as string));
}

/** The order of a list; ties go by id. Values that are chosen from a few go by their place among them. */
export function inOrder(row: Resource, { orderBy, direction }: Pick<Asked, 'orderBy' | 'direction'>) {
  const sign = direction === 'asc' ? 1 : -1;
  const choices: readonly unknown[] | null = choicesOf(row, orderBy);
  const placeOf = (record: AnyRecord): unknown => {
    const value = record[orderBy] ?? null;
    return choices && value !== null ? choices.indexOf(value) : value;
  };
  return (one: AnyRecord, other: AnyRecord): number =>
    sign * (compareValues(placeOf(one), placeOf(other)) || compareValues(one.id, other.id));
}

/** True when the list shows it. */
export const isListed = ({ record, isDeleted }: Kept, { includeDeleted, filter }: Asked): boolean =>
  (!isDeleted || includeDeleted) && filter.holds(record);

const isAbsent = (value: unknown): boolean => value === null || (Array.isArray(value) && value.length === 0);

type Holds = (value: unknown, wanted: unknown) => boolean;

const COMPARISONS: Partial<Record<FilterOperator, Holds>> = {
  eq: (value, wanted) => value === wanted,
  ne: (value, wanted) => value !== wanted,
  gte: (value, wanted) => !isAbsent(value) && compareValues(value, wanted) >= 0,
  lt: (value, wanted) => !isAbsent(value) && compareValues(value, wanted) < 0,
};

type Scalar = string | number | boolean;
const isScalar = (value: unknown): value is Scalar => ['string', 'number', 'boolean'].includes(typeof value);

/** Filters by one parameter, with values that the samples have. */
function filtersBy({ field, name, kind, operator }: FilterParameter, samples: readonly AnyRecord[]): Filter[] {
  if (operator === 'exists')
    return [true, false].map((wanted) => ({
      query: `&${name}=${wanted}`,
      holds: (record) => isAbsent(record[field]) !== wanted,
    }));
  const values = samples.map((sample) => sample[field]).filter(isScalar);
  const [value] = values.filter((one) => one !== '');
  if (value === undefined) return [];
  if (operator === 'in' && kind === 'choice') {
    const some = new Set<unknown>([...new Set(values)].slice(0, 2));
    return [{ query: `&${name}=${[...some].join(',')}`, holds: (record) => some.has(record[field]) }];
  }
  const holds = COMPARISONS[operator];
  const query = `&${name}=${encodeURIComponent(String(value))}`;
  return holds ? [{ query, holds: (record) => holds(record[field], value) }] : [];
}

/** No filter, and those that find some of the samples. */
export const filters = (row: Resource, samples: readonly AnyRecord[]): readonly [Filter, ...Filter[]] => [
  NONE,
  ...filterParameters(row)
    .flatMap((parameter) => filtersBy(parameter, samples))
    .filter((filter) => samples.some((sample) => filter.holds(sample))),
];

/** The rows whose sort fields cover every kind there is, nullable or not: few, and chosen by what they declare. */
export function rowsOfEverySortKind(rows: readonly Resource[]): Resource[] {
  const kindsOf = (row: Resource): string[] =>
    [...sortFields(row).values()].map(({ kind, isNullable }) => `${kind}${isNullable ? ' or null' : ''}`);
  const missing = new Set(rows.flatMap(kindsOf));
  const chosen: Resource[] = [];
  while (missing.size > 0) {
    const gain = (row: Resource): number => new Set(kindsOf(row).filter((kind) => missing.has(kind))).size;
    const best = rows.reduce((one, other) => (gain(other) > gain(one) ? other : one));
    for (const kind of kindsOf(best)) missing.delete(kind);
    chosen.push(best);
  }
  return chosen;
}

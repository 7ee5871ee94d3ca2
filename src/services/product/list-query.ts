/** Query parameters → a page request. The contract has already refused unknown names and wrongly typed single values. */
import { FILTERS_MAX } from '../../contracts/operations/products';
import { problem, refuseFindings, type Finding } from '../../contracts/problem';
import { decimalOf } from '../../domain/decimal';
import { nearest } from '../../domain/suggest';
import { customParameter } from '../../resources/custom-fields';
import { filterParameters, type FilterParameter } from '../../resources/filters';
import type { Resource } from '../../resources/resource';
import type { ResourceFilter } from '../../store/resources';

const VALUES_MAX = 100;

/** A list as it was asked for. */
export interface ListQuery {
  filters: ResourceFilter[];
  orderBy: string;
  direction: 'asc' | 'desc';
  limit?: number | undefined;
  /** Tombstones are listed, too. */
  includeDeleted: boolean;
  continuationToken?: string | undefined;
}

type Read = { value: string | number } | { finding: Pick<Finding, 'code' | 'message' | 'suggestion'> };

function readChoice(text: string, allowed: readonly string[]): Read {
  if (allowed.includes(text)) return { value: text };
  const suggestion = nearest(text, allowed);
  const message = `must be one of ${allowed.join(', ')}`;
  return { finding: { code: 'enum', message, ...(suggestion ? { suggestion } : {}) } };
}

function readInteger(text: string): Read {
  const value = decimalOf(text);
  if (value !== null && Number.isSafeInteger(value)) return { value };
  return { finding: { code: 'type', message: 'must be whole numbers, separated by commas' } };
}

/** One value of a comma-separated parameter. */
function readValue({ kind, value }: FilterParameter, text: string): Read {
  const { enum: allowed, pattern, maxLength } = value as { enum?: string[]; pattern?: string; maxLength?: number };
  if (allowed) return readChoice(text, allowed);
  if (kind === 'integer') return readInteger(text);
  if (pattern && !new RegExp(pattern).test(text)) {
    return { finding: { code: 'pattern', message: 'must be record ids, separated by commas' } };
  }
  if (maxLength !== undefined && Array.from(text).length > maxLength)
    return { finding: { code: 'maxLength', message: `has a value of more than ${maxLength} characters` } };
  if (text === '') return { finding: { code: 'minLength', message: 'has an empty value between its commas' } };
  return { value: text };
}

function readList(parameter: FilterParameter, given: string, findings: Finding[]): ResourceFilter['values'] {
  const named = given.split(',');
  const texts = [...new Set(named)];
  const at = { path: parameter.name };
  if (named.length > VALUES_MAX) {
    findings.push({ ...at, code: 'maxItems', message: `takes at most ${VALUES_MAX} values` });
    return [];
  }
  const values: ResourceFilter['values'] = [];
  for (const read of texts.map((text) => readValue(parameter, text))) {
    if ('value' in read) values.push(read.value);
    else findings.push({ ...at, ...read.finding });
  }
  return values;
}

/** A moment in any offset is compared as the same moment in UTC. */
function readSingle({ kind, name }: FilterParameter, given: unknown, findings: Finding[]): ResourceFilter['values'] {
  if (kind !== 'datetime' || typeof given !== 'string') return [given as string | number | boolean];
  const moment = new Date(given);
  if (!Number.isNaN(moment.getTime())) return [moment.toISOString()];
  findings.push({ path: name, code: 'format', message: 'must be a date-time' });
  return [];
}

/** Values in the spelling in which records have them. */
const spelled = ({ isLowerCased }: FilterParameter, values: ResourceFilter['values']): ResourceFilter['values'] =>
  isLowerCased ? values.map((value) => (typeof value === 'string' ? value.toLowerCase() : value)) : values;

/** A text in an address says no type, so a value that reads as a number or as a truth value finds that, too. */
function readings(text: string): ResourceFilter['values'] {
  const number = decimalOf(text);
  return [
    text,
    ...(number === null ? [] : [number]),
    ...(text === 'true' || text === 'false' ? [text === 'true'] : []),
  ];
}

/** A filter by a custom field. Numbers are compared with numbers, texts with texts. */
function readCustom(name: string, given: unknown): ResourceFilter | null {
  const parameter = customParameter(name);
  if (!parameter) return null;
  const { key, operator } = parameter;
  const field = `customFields.${key}`;
  if (operator === 'exists') return { field, operator, values: [given as boolean] };
  const text = String(given);
  if (operator === 'startsWith') return { field, operator, values: [text] };
  if (operator === 'eq' || operator === 'in')
    return { field, operator: 'in', values: (operator === 'in' ? text.split(',') : [text]).flatMap(readings) };
  if (operator === 'ne' || operator === 'nin')
    return { field, operator: 'nin', values: (operator === 'nin' ? text.split(',') : [text]).flatMap(readings) };
  const [asText = '', asNumber] = readings(text);
  return { field, operator, values: [typeof asNumber === 'number' ? asNumber : asText] };
}

/** Reads the filters of a list or a count. */
export function readFilters(row: Resource, query: Record<string, unknown>): ResourceFilter[] {
  const findings: Finding[] = [];
  const used = filterParameters(row).filter(({ name }) => query[name] !== undefined);
  const custom = Object.entries(query).flatMap(([name, given]) => readCustom(name, given) ?? []);
  const count = used.length + custom.length;
  if (count > FILTERS_MAX) {
    const message = `A list takes at most ${FILTERS_MAX} filters, not ${count}.`;
    throw problem('validation_error', { message, findings: [{ path: '', code: 'too_many_filters', message }] });
  }
  const filters = used.map((parameter) => {
    const given = query[parameter.name];
    const values = parameter.isList
      ? readList(parameter, String(given), findings)
      : readSingle(parameter, given, findings);
    return { field: parameter.field, operator: parameter.operator, values: spelled(parameter, values) };
  });
  refuseFindings(findings, 'query');
  return [...filters, ...custom];
}

/** Reads the query of a list. */
export function readListQuery(row: Resource, query: Record<string, unknown>): ListQuery {
  const { limit, orderBy, orderDirection, includeDeleted, continuationToken } = query as {
    limit?: number;
    orderBy?: string;
    orderDirection?: 'asc' | 'desc';
    includeDeleted?: boolean;
    continuationToken?: string;
  };
  return {
    filters: readFilters(row, query),
    orderBy: orderBy ?? 'createdAt',
    direction: orderDirection ?? 'desc',
    limit,
    includeDeleted: includeDeleted ?? false,
    continuationToken,
  };
}

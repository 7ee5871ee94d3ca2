/** How catalog entries are written down: a field is its type and an example, and the sample payload follows from them. */
import type { EVENT_CATEGORIES, EventCatalogEntry, FieldType, FilterableField } from '../contracts/event';

/** One payload field: what it is, what it may look like and whether it is offered for filters. */
export interface Field {
  type: FieldType;
  sample: unknown;
  label?: string;
  enumValues?: readonly string[];
  isHidden?: true;
}
export type Fields = Record<string, Field>;

/** Writes down a field of one type by its example. */
type Declare<Value> = (sample: Value, label?: string) => Field;

const declare =
  (type: FieldType): Declare<unknown> =>
  (sample, label) => ({ type, sample, ...(label === undefined ? {} : { label }) });

export const text: Declare<string> = declare('string');
export const id: Declare<string> = declare('id');
export const whole: Declare<number> = declare('integer');
export const decimal: Declare<number> = declare('number');
/** An amount in minor units: 125000 is 1 250.00. */
export const money: Declare<number> = declare('money');
export const flag: Declare<boolean> = declare('boolean');
export const moment: Declare<string> = declare('datetime');
export const listOf: Declare<readonly unknown[]> = declare('array');
export const choice = (values: readonly string[], sample: string, label?: string): Field => ({
  ...declare('enum')(sample, label),
  enumValues: values,
});
/** Part of the payload, for texts and conditions, but too long or too loose to offer as a filter. */
export const hidden = (sample: unknown): Field => ({ type: 'string', sample, isHidden: true });

export const PRIORITIES = ['low', 'medium', 'high', 'critical'] as const;
export const SEVERITIES = ['low', 'medium', 'high', 'critical'] as const;

/** Fields that mean the same in every product. */
export const CLIENT: Fields = { client_id: id('cli_northwind') };
export const TICKET_ID: Fields = { ticket_id: id('tkt_01K0ZQ8X6N') };

const INITIALS: Record<string, string> = {
  id: 'ID',
  sla: 'SLA',
  os: 'OS',
  kb: 'KB',
  ip: 'IP',
  csat: 'CSAT',
  api: 'API',
  mitre: 'MITRE',
};

function labelOf(path: string): string {
  const words = path.split(/[_.]/).map((word) => INITIALS[word] ?? word);
  const [first = '', ...others] = words;
  return [first.charAt(0).toUpperCase() + first.slice(1), ...others].join(' ');
}

const filterable = ([path, { type, label, enumValues }]: [string, Field]): FilterableField => ({
  path,
  label: label ?? labelOf(path),
  type,
  ...(enumValues ? { enum_values: [...enumValues] } : {}),
});

interface Declared {
  category: (typeof EVENT_CATEGORIES)[number];
  name: string;
  about: string;
  fields: Fields;
}

/** A catalog entry for `<product>:<type>`. */
export function event(eventId: `${string}:${string}`, { category, name, about, fields }: Declared): EventCatalogEntry {
  const [product = '', type = ''] = eventId.split(':');
  const declared = Object.entries(fields);
  return {
    id: eventId,
    source_product: product,
    event_type: type,
    category,
    display_name: name,
    description: about,
    filterable_fields: declared.filter(([, { isHidden }]) => !isHidden).map(filterable),
    sample_payload: Object.fromEntries(declared.map(([path, { sample }]) => [path, sample])),
  };
}

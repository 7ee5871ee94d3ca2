/** The words a resource's fields are declared with: what a field holds, who sets it and how lists may use it. */

import { IP_PATTERN, KEY_PATTERN, LINE_PATTERN, PHONE_PATTERN, WEB_ADDRESS_PATTERN } from '../contracts/patterns';
import { ID_PATTERN } from '../contracts/schema';
import { invoiceLines, MONEY_MAX, type InvoiceLine } from './invoice-lines';

/** How a field is stored, compared and filtered. */
export type FieldKind = 'string' | 'choice' | 'id' | 'integer' | 'boolean' | 'datetime' | 'date' | 'strings' | 'json';

/** JSON Schema of one value. */
export type ValueSchema = Readonly<Record<string, unknown>>;

interface Traits {
  kind: FieldKind;
  schema: ValueSchema;
  /** A create must name it. */
  isRequired: boolean;
  /** Value of a create that does not name it. */
  fallback: unknown;
  isFilterable: boolean;
  isSortable: boolean;
  /** Kept in lower case, and found in any. */
  isLowerCased: boolean;
  /** Never accepted from a client. */
  isServerSet: boolean;
  /** Said once, at create. */
  isFixed: boolean;
  /** Key of the resource whose record it names; checked inside the tenant. */
  target: string | null;
  /** First number of the tenant's counter that fills it. */
  countsFrom: number | null;
  /** Stands before the number, which then has six digits; numbers alone are integers. */
  countPrefix: string | null;
}

const COUNT_DIGITS = 6;

/** A number of the tenant's counter as the field holds it: `1001`, or `INV-000123`. */
export const countedValue = ({ countPrefix }: Pick<Traits, 'countPrefix'>, counted: number): number | string =>
  countPrefix === null ? counted : `${countPrefix}${String(counted).padStart(COUNT_DIGITS, '0')}`;

/** One field. Each word returns a new field, so declarations read from left to right. */
export class Field<Value = unknown, Always extends boolean = boolean> {
  /** Type of the value in a record: `null` stands for "not set". Never present at run time. */
  declare readonly value: Always extends true ? Value : Value | null;
  readonly traits: Readonly<Traits>;

  constructor(traits: Readonly<Traits>) {
    this.traits = traits;
  }

  /** Must be named at create and can never be cleared. */
  required(): Field<Value, true> {
    return new Field({ ...this.traits, isRequired: true, schema: notEmpty(this.traits) });
  }

  /** Has this value unless a create names another; can never be cleared. */
  default(fallback: Value): Field<Value, true> {
    return new Field({ ...this.traits, fallback });
  }

  filterable(): Field<Value, Always> {
    return new Field({ ...this.traits, isFilterable: true });
  }

  sortable(): Field<Value, Always> {
    return new Field({ ...this.traits, isSortable: true });
  }

  /** A text with one spelling: it is kept in lower case, and filters find it in any. */
  lowerCased(): Field<Value, Always> {
    return new Field({ ...this.traits, isLowerCased: true });
  }

  /** Only the server writes it. */
  serverSet(): Field<Value, Always> {
    return new Field({ ...this.traits, isServerSet: true });
  }

  /** Named at create and never changed after; a change to another value is a conflict. */
  fixed(): Field<Value, Always> {
    return new Field({ ...this.traits, isFixed: true });
  }

  /** Filled at create from a counter of the tenant. Numbers only rise; a failed create leaves a gap. */
  counted(from: number, prefix: string | null = null): Field<Value, true> {
    return new Field({ ...this.traits, isServerSet: true, countsFrom: from, countPrefix: prefix });
  }

  /** What readers of the API documents must know to understand the value. */
  described(description: string): Field<Value, Always> {
    return new Field({ ...this.traits, schema: { ...this.traits.schema, description } });
  }

  /** True when a record may hold `null` here. */
  get isNullable(): boolean {
    const { isRequired, fallback, countsFrom } = this.traits;
    return !isRequired && fallback === null && countsFrom === null;
  }
}

/** A required text says something. */
function notEmpty({ kind, schema }: Readonly<Traits>): ValueSchema {
  return kind === 'string' ? { minLength: 1, ...schema } : schema;
}

/** The fields of a resource by name, in the order clients see them. */
export type Fields = Readonly<Record<string, Field>>;

function make<Value>(kind: FieldKind, schema: ValueSchema, target: string | null = null): Field<Value, false> {
  return new Field<Value, false>({
    kind,
    schema,
    target,
    isRequired: false,
    fallback: null,
    isFilterable: false,
    isSortable: false,
    isLowerCased: false,
    isServerSet: false,
    isFixed: false,
    countsFrom: null,
    countPrefix: null,
  });
}

/** The products that records can name. */
const PRODUCTS = ['psa', 'crm', 'books', 'rmm', 'security', 'defend', 'backups', 'voice', 'portal', 'console'] as const;

const LINE_MAX = 255;

const text = (maxLength: number, more: ValueSchema = {}): Field<string, false> =>
  make('string', { type: 'string', maxLength, ...more });
const patterned = (pattern: string, description: string): Field<string, false> =>
  make('string', { type: 'string', pattern, description });
/** Any JSON below names that are no operators; how deep and how large it may be is said for bodies as a whole. */
const freeObject: ValueSchema = {
  type: 'object',
  maxProperties: 100,
  propertyNames: { pattern: KEY_PATTERN },
  additionalProperties: true,
};

/** Every type a field can have. */
export const field = {
  /** One line. */
  string: () => text(LINE_MAX, { pattern: LINE_PATTERN }),
  /** What another system says of a failure, in its own words and lines. */
  message: () => text(LINE_MAX),
  /** Paragraphs. */
  text: () => text(10_000),
  /** A script, a query or a transcript. */
  document: () => text(64_000),
  /** What people write to a record. */
  note: () => text(65_536),
  choice: <const Values extends readonly string[]>(values: Values): Field<Values[number], false> =>
    make('choice', { type: 'string', enum: [...values] }),
  choices: <const Values extends readonly string[]>(values: Values): Field<Values[number][], false> =>
    make('strings', { type: 'array', items: { type: 'string', enum: [...values] }, uniqueItems: true }),
  /** One of the products. */
  product: (): Field<(typeof PRODUCTS)[number], false> => make('choice', { type: 'string', enum: [...PRODUCTS] }),
  integer: (minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER): Field<number, false> =>
    make('integer', { type: 'integer', minimum, maximum }),
  money: (minimum = -MONEY_MAX): Field<number, false> =>
    make('integer', { type: 'integer', minimum, maximum: MONEY_MAX, description: 'In minor units' }),
  boolean: (): Field<boolean, false> => make('boolean', { type: 'boolean' }),
  datetime: (): Field<string, false> => make('datetime', { type: 'string', format: 'date-time' }),
  date: (): Field<string, false> => make('date', { type: 'string', format: 'date' }),
  email: () => text(254, { format: 'email' }),
  phone: () => text(41, { minLength: 3, pattern: PHONE_PATTERN, description: 'Telephone number' }),
  uri: () => text(2_000, { pattern: WEB_ADDRESS_PATTERN, description: 'An http or https address' }),
  ipAddress: () => patterned(IP_PATTERN, 'IPv4 or IPv6 address'),
  currency: () => patterned('^[A-Z]{3}$', 'ISO 4217 currency code'),
  country: () => patterned('^[A-Z]{2}$', 'ISO 3166 country code'),
  color: () => patterned('^#[0-9a-fA-F]{6}$', 'Colour such as #1a73e8'),
  slug: () => patterned('^[a-z0-9](-?[a-z0-9]){0,62}$', 'Lower-case letters, digits and single hyphens'),
  technique: () => patterned('^T[0-9]{4}(\\.[0-9]{3})?$', 'MITRE ATT&CK technique such as T1059.001'),
  sha256: () => patterned('^[0-9a-f]{64}$', 'SHA-256 in lower-case hexadecimal'),
  /** Identifier of something this registry does not hold, such as a user. */
  id: (): Field<string, false> => make('id', { type: 'string', pattern: ID_PATTERN }),
  /** Identifier of a record of another resource in the same tenant. */
  ref: (target: string): Field<string, false> => make('id', { type: 'string', pattern: ID_PATTERN }, target),
  strings: (): Field<string[], false> =>
    make('strings', { type: 'array', items: { type: 'string', minLength: 1, maxLength: 255 }, maxItems: 100 }),
  object: (): Field<Record<string, unknown>, false> => make('json', freeObject),
  /** What an invoice charges for. */
  lines: (): Field<InvoiceLine[], false> => make('json', invoiceLines),
};

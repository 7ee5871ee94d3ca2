/** Contract → ajv. Bodies are checked as they are, queries and paths as what their text means. Compiled once, when a route is first asked for. */
import Ajv2020, { type ErrorObject, type ValidateFunction } from 'ajv/dist/2020';
import { AgentDefinition, Trigger } from '../contracts/agent';
import { Condition, Filter } from '../contracts/condition';
import { CloudEvent, NativeEvent } from '../contracts/event';
import { wordsOf } from '../contracts/patterns';
import type { Finding } from '../contracts/problem';
import { STEP_SCHEMAS } from '../contracts/step';
import { SERVER_SET, type TSchema } from '../contracts/schema';
import { below } from '../domain/definition/findings';
import { decimalOf } from '../domain/decimal';
import { nearest } from '../domain/suggest';
import { joinAlternatives, likeliest } from './alternatives';

const FINDINGS_MAX = 20;
/** What is wrong beyond this is not looked into: each is held against all others, and looked up among the names there are. */
const ERRORS_MAX = 500;

/** Schemas that others refer to by `$id`. */
export const SHARED_SCHEMAS: TSchema[] = [
  Filter,
  Condition,
  Trigger,
  ...STEP_SCHEMAS,
  AgentDefinition,
  NativeEvent,
  CloudEvent,
];

const TIMESTAMP = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;
const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** The parser rolls 31 February over into March; only a date that survives the round trip is one. */
const isDate = (text: string): boolean =>
  DATE.test(text) && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString().startsWith(text);

/** In UTC its year has four digits, too: an hour before or after all that can be written down is no timestamp. */
const isTimestamp = (text: string): boolean => {
  const day = TIMESTAMP.exec(text)?.[1];
  if (day === undefined || !isDate(day) || Number.isNaN(Date.parse(text))) return false;
  return TIMESTAMP.test(new Date(text).toISOString());
};
const EMAIL = /^[^\s@<>",;]{1,64}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})+$/;

const FORMATS: Record<string, (text: string) => boolean> = {
  'date-time': isTimestamp,
  date: isDate,
  email: (text) => text.length <= 254 && EMAIL.test(text),
  uri: (text) => URL.canParse(text),
};

const build = (isText: boolean): Ajv2020 => {
  const ajv = new Ajv2020({
    allErrors: true,
    strict: true,
    strictTypes: false,
    strictRequired: false,
    discriminator: true,
    verbose: true,
    // Of the product's own schemas the contract tests make sure; here it would cost every start and each first request.
    validateSchema: false,
    useDefaults: isText,
    formats: FORMATS,
  });
  for (const schema of SHARED_SCHEMAS) ajv.addSchema(schema);
  return ajv;
};
const strict = build(false);
const fromText = build(true);

export type Validator = (value: unknown) => Finding[];

const list = (values: unknown): string => (Array.isArray(values) ? values.map(String).join(', ') : String(values));

function fieldNames(error: ErrorObject): string[] {
  const parent = error.parentSchema as { properties?: Record<string, unknown> } | undefined;
  return Object.keys(parent?.properties ?? {});
}

/** People send records back as they were read. */
const isServerSet = ({ parentSchema }: ErrorObject, name: string): boolean =>
  (parentSchema as { [SERVER_SET]?: string[] } | undefined)?.[SERVER_SET]?.includes(name) ?? false;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const NAMES_SHOWN_MAX = 20;

/** Long lists help nobody: the suggestion names the likely one. */
const known = (names: string[]): string =>
  names.length > NAMES_SHOWN_MAX
    ? `${names.length} fields are known, among them ${names.slice(0, NAMES_SHOWN_MAX).join(', ')}`
    : `known fields: ${names.join(', ')}`;

type Wording = (error: ErrorObject) => { message: string; path?: string; suggestion?: string | undefined };
const param = (error: ErrorObject, name: string): unknown => (error.params as Record<string, unknown>)[name];

/** Domains with other letters have a name in ASCII, too, and only that is taken: `bücher.de` is `xn--bcher-kva.de`. */
function addressWording(address: string): ReturnType<Wording> {
  const at = address.lastIndexOf('@') + 1;
  const asUrl = `http://${address.slice(at)}`;
  const domain = URL.canParse(asUrl) ? new URL(asUrl) : null;
  const inAscii = `${address.slice(0, at)}${domain?.host ?? ''}`;
  const isMeant = at > 0 && domain?.pathname === '/' && inAscii !== address && EMAIL.test(inAscii);
  return isMeant
    ? { message: 'must be a mail address with its domain in ASCII', suggestion: inAscii }
    : { message: 'must be a mail address' };
}

const WORDINGS: Record<string, Wording> = {
  required: (error) => ({
    message: `${String(param(error, 'missingProperty'))} is required`,
    path: `${error.instancePath}/${String(param(error, 'missingProperty'))}`,
  }),
  additionalProperties: (error) => {
    const name = String(param(error, 'additionalProperty'));
    if (isServerSet(error, name))
      return { message: `${name} is set by the server; leave it out`, path: `${error.instancePath}/${name}` };
    const names = fieldNames(error);
    return {
      message: `unknown field ${name}; ${known(names)}`,
      path: `${error.instancePath}/${name}`,
      suggestion: nearest(name, names),
    };
  },
  enum: (error) => {
    const allowed = param(error, 'allowedValues') as unknown[];
    return { message: `must be one of ${list(allowed)}`, suggestion: nearest(textOf(error.data), allowed.map(String)) };
  },
  const: (error) => ({ message: `must be ${String(param(error, 'allowedValue'))}` }),
  discriminator: (error) => {
    const types = discriminators(error);
    const given = param(error, 'tagValue');
    return {
      message:
        given === undefined
          ? `type is required; one of ${list(types)}`
          : `unknown type ${textOf(given)}; one of ${list(types)}`,
      path: `${error.instancePath}/${String(param(error, 'tag'))}`,
      suggestion: nearest(textOf(given), types),
    };
  },
  minProperties: (error) => ({
    message: error.instancePath === '' ? 'name at least one field' : (error.message ?? 'is empty'),
  }),
  format: (error) => {
    const format = String(param(error, 'format'));
    return format === 'email' ? addressWording(textOf(error.data)) : { message: `must be a ${format}` };
  },
  pattern: (error) => {
    const { description } = (error.parentSchema ?? {}) as { description?: string };
    const wanted = description === undefined ? '' : ` (${description})`;
    const pattern = String(param(error, 'pattern'));
    return { message: wordsOf(pattern) ?? `does not match ${pattern}${wanted}` };
  },
};

function discriminators(error: ErrorObject): string[] {
  const members = (error.parentSchema as { oneOf?: { $ref?: string }[] } | undefined)?.oneOf ?? [];
  return members.flatMap((member) => {
    const schema = SHARED_SCHEMAS.find((shared) => shared.$id === member.$ref) as
      | { properties?: { type?: { const?: string } } }
      | undefined;
    return schema?.properties?.type?.const ?? [];
  });
}

const NESTING: readonly string[] = ['oneOf', 'anyOf', 'if', 'propertyNames'];

const NULL_REFUSED_BY: ReadonlySet<string> = new Set(['type', 'enum']);
const isBranch = ({ schemaPath }: ErrorObject): boolean => /\/(anyOf|oneOf)\//.test(schemaPath);

/** A null among values that are all texts fails their type, too. */
const isSaidByEnum = (error: ErrorObject, all: ErrorObject[]): boolean =>
  error.keyword === 'type' &&
  error.data === null &&
  all.some((other) => other.keyword === 'enum' && other.parentSchema === error.parentSchema);

/** Of an empty text nothing more needs to be said. */
const isSaidByLength = (error: ErrorObject, all: ErrorObject[]): boolean =>
  error.keyword === 'pattern' &&
  error.data === '' &&
  all.some((other) => other.keyword === 'minLength' && other.parentSchema === error.parentSchema);

/** `if`, `oneOf`, `anyOf` and `propertyNames` only say that their members failed; the members' own errors are the useful ones. */
const isNoise = (error: ErrorObject, all: ErrorObject[]): boolean =>
  isSaidByEnum(error, all) ||
  isSaidByLength(error, all) ||
  (NESTING.includes(error.keyword) &&
    all.some((other) => other.instancePath.startsWith(error.instancePath) && other !== error));

/** A name that is not allowed is pointed at itself, escaped as pointers are. */
const pathOf = ({ instancePath, propertyName }: ErrorObject): string =>
  propertyName === undefined ? instancePath : below(instancePath, propertyName);

/** Where null is not allowed people meant to clear the field: that it cannot be is the news. */
function wordingOf(error: ErrorObject): ReturnType<Wording> {
  const worded = WORDINGS[error.keyword]?.(error) ?? { message: error.message ?? 'is not valid' };
  const isRefusedNull = error.data === null && NULL_REFUSED_BY.has(error.keyword) && !isBranch(error);
  return isRefusedNull ? { message: `${worded.message} and cannot be null` } : worded;
}

const GOT_MAX = 100;

/** The value that was sent, where it is one value; of a long text the beginning. */
function gotOf({ data, keyword, propertyName }: ErrorObject): Pick<Finding, 'got'> {
  if (propertyName !== undefined || keyword === 'discriminator') return {};
  if (typeof data === 'string') return { got: Array.from(data).slice(0, GOT_MAX).join('') };
  const isScalar = data === null || typeof data === 'number' || typeof data === 'boolean';
  return isScalar ? { got: data } : {};
}

function findingOf(error: ErrorObject): Finding {
  const worded = wordingOf(error);
  return {
    path: worded.path ?? pathOf(error),
    code: error.keyword === 'additionalProperties' ? 'unknown_field' : error.keyword,
    message: error.propertyName === undefined ? worded.message : `this key ${worded.message}`,
    ...(worded.suggestion ? { suggestion: worded.suggestion } : {}),
  };
}

/** Compiles at the first use: hundreds at once take a second of every start, and few are needed in the first one. */
function validatorOf(compile: () => ValidateFunction, echoes = false): Validator {
  let validate: ValidateFunction | null = null;
  return (value) => {
    validate ??= compile();
    if (validate(value)) return [];
    const errors = likeliest((validate.errors ?? []).slice(0, ERRORS_MAX));
    const useful = errors.filter((error) => !isNoise(error, errors));
    const worded = useful.map((error) => ({
      error,
      finding: { ...findingOf(error), ...(echoes ? gotOf(error) : {}) },
    }));
    const failed = errors.filter(({ keyword }) => keyword === 'anyOf');
    const findings = joinAlternatives(worded, failed);
    const seen = new Map(findings.map((finding) => [`${finding.path} ${finding.message}`, finding]));
    return [...seen.values()].slice(0, FINDINGS_MAX);
  };
}

const compiled = (ajv: Ajv2020, schema: TSchema): ValidateFunction => {
  const known = schema.$id ? ajv.getSchema(schema.$id) : undefined;
  return known ?? ajv.compile(schema);
};

/** Checks a JSON body as it is; nothing is converted. One that `echoes` says what was sent in place of what it wants. */
export const bodyValidator = (schema: TSchema, echoes = false): Validator =>
  validatorOf(() => compiled(strict, schema), echoes);

const TRUTH: Record<string, boolean> = { true: true, false: false };

const READ: Record<string, (text: string) => unknown> = {
  integer: decimalOf,
  boolean: (text) => TRUTH[text],
};

type Typed = Record<string, { type?: string }>;

/** How the parameter of a name is read, as its schema has it by name or by pattern. */
function readersOf(schema: Omit<TSchema, '$id'>) {
  const { properties = {}, patternProperties = {} } = schema as { properties?: Typed; patternProperties?: Typed };
  const patterns = Object.entries(patternProperties).map(([pattern, { type }]) => ({ at: new RegExp(pattern), type }));
  return (name: string) => {
    const { type } = Object.hasOwn(properties, name)
      ? (properties[name] ?? {})
      : (patterns.find(({ at }) => at.test(name)) ?? {});
    return type === undefined ? undefined : READ[type];
  };
}

/** Checks query or path parameters; text becomes the declared number or boolean, in place. */
export const textValidator = (schema: TSchema): Validator => {
  const { $id: _unused, ...anonymous } = schema;
  const check = validatorOf(() => fromText.compile(anonymous));
  const readerOf = readersOf(anonymous);
  return (values) => {
    const given = values as Record<string, unknown>;
    // A text that means nothing stays as it is, for the check to refuse.
    for (const [name, text] of Object.entries(given))
      if (typeof text === 'string') given[name] = readerOf(name)?.(text) ?? text;
    return check(given);
  };
};

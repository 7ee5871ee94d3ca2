/** Fills the fields of a schema from a text without a model: by label, by form, by keyword, and otherwise not at all. */
import { amountOf, findValues, kindOfField } from './recognisers';
import { bestLabel, countWords, mentions, summarise, wordsOf } from './text-words';

type Schema = Readonly<Record<string, unknown>>;

interface Field {
  path: string;
  words: readonly string[];
  schema: Schema;
}

interface Source {
  text: string;
  counts: ReadonlyMap<string, number>;
  root: Schema;
  missing: string[];
}

const DEPTH_MAX = 6;
const CONFIDENCE = 0.2;
const ITEMS_MAX = 20;

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const typesOf = (schema: Schema): unknown[] => (Array.isArray(schema['type']) ? schema['type'] : [schema['type']]);
const has = (schema: Schema, type: string): boolean => typesOf(schema).includes(type);

/** Follows a local reference and takes the first alternative that is not null. */
function resolve(schema: Schema, root: Schema): Schema {
  const reference = schema['$ref'];
  if (typeof reference === 'string' && reference.startsWith('#/')) {
    let target: unknown = root;
    for (const key of reference.slice(2).split('/')) target = isSchema(target) ? target[key] : undefined;
    return isSchema(target) ? target : schema;
  }
  const alternatives = [...asList(schema['anyOf']), ...asList(schema['oneOf'])].filter(isSchema);
  if (alternatives.length === 0 || labelsOf(schema)) return schema;
  const [first] = alternatives.filter((one) => one['type'] !== 'null');
  const isNullable = alternatives.some((one) => one['type'] === 'null');
  return first
    ? { ...first, description: first['description'] ?? schema['description'], nullable: isNullable }
    : schema;
}

/** The labels of an enumeration, however it is spelled. */
function labelsOf(schema: Schema): { labels: string[]; description: string } | undefined {
  const description = textOf(schema['description']);
  const listed = asList(schema['enum']).filter((value) => typeof value === 'string');
  if (listed.length > 0) return { labels: listed, description };
  const options = [...asList(schema['oneOf']), ...asList(schema['anyOf'])]
    .filter(isSchema)
    .filter((one) => typeof one['const'] === 'string');
  if (options.length === 0) return undefined;
  const described = options.map((one) => `${String(one['const'])}: ${textOf(one['description'] ?? one['title'])};`);
  return { labels: options.map((one) => String(one['const'])), description: described.join(' ') };
}

/** A value written beside its name, as in `Subject: Printer offline` or in JSON. */
function labelled(words: readonly string[], text: string): string | undefined {
  if (words.length === 0) return undefined;
  // The words hold letters and digits only. The rest of the line is cut by hand: text from outside must not make
  // a pattern walk back and forth over it.
  const label = new RegExp(`^[ \\t{,]*"?${words.join('[ _-]?')}"?[ \\t]*[:=](.*)$`, 'imu').exec(text)?.[1]?.trim();
  if (!label || /^[[{]/.test(label)) return undefined;
  const quoted = /^"((?:[^"\\]|\\.)*)"/.exec(label)?.[1];
  const value = quoted ?? (label.endsWith(',') ? label.slice(0, -1) : label);
  return value === 'null' || value === '' ? undefined : value;
}

function fillLabel(field: Field, source: Source): string | undefined {
  const listed = labelsOf(field.schema);
  if (!listed) return undefined;
  const written = labelled(field.words, source.text)?.toLowerCase();
  const exact = listed.labels.find((label) => label.toLowerCase() === written);
  if (exact !== undefined) return exact;
  if (kindOfField(field.words, undefined) === 'priority') {
    const graded = findValues('priority', source.text).find((word) => listed.labels.includes(word));
    if (graded) return graded;
  }
  return bestLabel(listed.labels, listed.description, source.counts);
}

function fillString({ words, schema }: Field, { text }: Source): string | undefined {
  const written = labelled(words, text);
  if (written !== undefined) return written;
  const kind = kindOfField(words, schema['format']);
  if (kind) {
    const found = findValues(kind, text)[0];
    return found && schema['format'] === 'date-time' && found.length === 10 ? `${found}T00:00:00Z` : found;
  }
  if (words.some((word) => /^(?:summary|description|overview|message|text|body|note|answer)$/.test(word)))
    return summarise(text, { sentences: 3, length: Math.min(Number(schema['maxLength'] ?? 600), 600) });
  if (words.some((word) => /^(?:title|subject|headline|topic)$/.test(word)))
    return summarise(text, { sentences: 1, length: Math.min(Number(schema['maxLength'] ?? 120), 120) });
  if (words.some((word) => /^(?:reason|reasoning|rationale|explanation)$/.test(word)))
    return 'Worked out offline, without a model, from the words and values in the text; a person should look at it.';
  return undefined;
}

function fillNumber({ words, schema }: Field, { text }: Source): number | undefined {
  if (words.some((word) => /^(?:confidence|probability|certainty)$/.test(word)))
    return Number(schema['maximum'] ?? 1) > 1 ? CONFIDENCE * 100 : CONFIDENCE;
  const written = labelled(words, text);
  const kind = kindOfField(words, undefined);
  const found = written ?? (kind === 'amount' ? findValues('amount', text)[0] : undefined);
  if (found === undefined || !/\d/.test(found)) return undefined;
  const value = amountOf(found);
  return has(schema, 'integer') ? Math.round(value) : value;
}

const ASKS_FOR_A_PERSON = /^(?:human|review|escalate|escalation|approval|person)$/;

function fillBoolean({ words }: Field, source: Source): boolean | undefined {
  if (words.some((word) => ASKS_FOR_A_PERSON.test(word))) return true;
  const written = labelled(words, source.text)?.toLowerCase();
  if (written === 'true' || written === 'yes') return true;
  if (written === 'false' || written === 'no') return false;
  return mentions(source.counts, words) ? true : undefined;
}

function fillArray({ words, schema }: Field, source: Source): unknown[] | undefined {
  const items = isSchema(schema['items']) ? resolve(schema['items'], source.root) : {};
  const listed = labelsOf(items);
  if (listed) {
    const found = listed.labels.filter((label) => bestLabel([label], listed.description, source.counts));
    return found.length > 0 ? found : undefined;
  }
  const kind = kindOfField(words, items['format']);
  if (!kind) return undefined;
  const found = findValues(kind, source.text).slice(0, Math.min(Number(schema['maxItems'] ?? ITEMS_MAX), ITEMS_MAX));
  if (found.length === 0) return undefined;
  return has(items, 'number') ? found.map(amountOf) : found;
}

function fillField(field: Field, source: Source, depth: number): unknown {
  const { schema } = field;
  if ('const' in schema) return schema['const'];
  if (labelsOf(schema)) return fillLabel(field, source);
  if (has(schema, 'object') && isSchema(schema['properties']))
    return fillProperties(schema, source, { path: field.path, depth });
  if (has(schema, 'array')) return fillArray(field, source);
  if (has(schema, 'boolean')) return fillBoolean(field, source);
  if (has(schema, 'number') || has(schema, 'integer')) return fillNumber(field, source);
  return has(schema, 'string') ? fillString(field, source) : undefined;
}

const CAUTIOUS =
  /^(?:unknown|other|none|unclear|review|needs?_?(?:human|review)|escalate|hold|deny|reject|no|normal|medium)$/i;

function emptyValue(schema: Schema): unknown {
  if (has(schema, 'array')) return [];
  if (has(schema, 'number') || has(schema, 'integer')) return Number(schema['minimum'] ?? 0);
  if (has(schema, 'object')) return {};
  return Number(schema['minLength'] ?? 0) > 0 ? 'unknown' : '';
}

/** What stands in a required field that was not found: nothing a later step could take for a finding, where the type allows. */
function safeValue({ schema, words }: Field): unknown {
  if ('default' in schema) return schema['default'];
  if (schema['nullable'] === true || has(schema, 'null')) return null;
  const listed = labelsOf(schema);
  if (listed) return listed.labels.find((label) => CAUTIOUS.test(label)) ?? listed.labels[0];
  if (has(schema, 'boolean')) return words.some((word) => ASKS_FOR_A_PERSON.test(word));
  return emptyValue(schema);
}

function fillProperties(schema: Schema, source: Source, at: { path: string; depth: number }): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  if (at.depth >= DEPTH_MAX) return object;
  const required = asList(schema['required']);
  for (const [name, raw] of Object.entries((schema['properties'] ?? {}) as Record<string, unknown>)) {
    if (at.depth === 0 && (name === 'missing' || name === 'needs_human')) continue;
    const path = at.path ? `${at.path}.${name}` : name;
    const field: Field = { path, words: wordsOf(name), schema: isSchema(raw) ? resolve(raw, source.root) : {} };
    const value = fillField(field, source, at.depth + 1);
    if (value !== undefined) object[name] = value;
    else {
      source.missing.push(path);
      if (required.includes(name)) object[name] = safeValue(field);
    }
  }
  return object;
}

/** Answers an object for the schema; it says itself what was not found and that a person is needed, where the schema has room. */
export function fillSchema(root: Schema, text: string): Record<string, unknown> {
  const schema = resolve(root, root);
  const source: Source = { text, counts: countWords(text), root, missing: [] };
  const object = fillProperties(schema, source, { path: '', depth: 0 });
  const declared = isSchema(schema['properties']) ? schema['properties'] : {};
  const hasRoom = (name: string) => name in declared || schema['additionalProperties'] !== false;
  if (hasRoom('missing')) object['missing'] = source.missing;
  if (hasRoom('needs_human')) object['needs_human'] = true;
  return object;
}

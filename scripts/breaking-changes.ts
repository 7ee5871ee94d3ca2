/** Two OpenAPI documents → what the second one breaks for clients of the first. */

type Json = Record<string, unknown>;

/** As much of a document as is compared. */
export interface Contract {
  /** By method and path. */
  operations: Record<string, Json>;
  schemas: Record<string, Json>;
}

const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const jsonOf = (value: unknown): Json => (isJson(value) ? value : {});
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** What explains and does not bind. */
const PROSE = new Set(['description', 'summary', 'title', 'example', 'examples', 'default', 'discriminator']);

function withoutProse(value: unknown, isNames = false): unknown {
  if (Array.isArray(value)) return value.map((entry) => withoutProse(entry));
  if (!isJson(value)) return value;
  const entries = Object.entries(value).filter(([name]) => isNames || !PROSE.has(name));
  return Object.fromEntries(entries.map(([name, entry]) => [name, withoutProse(entry, name === 'properties')]));
}

const schemaIn = (content: unknown): unknown =>
  jsonOf(jsonOf(jsonOf(content)['content'])['application/json'])['schema'];

function operationOf(shown: Json, parameters: Json): Json {
  const resolved = listOf(shown['parameters']).map((entry) => {
    const ref = jsonOf(entry)['$ref'];
    return jsonOf(typeof ref === 'string' ? parameters[ref.split('/').at(-1) ?? ''] : entry);
  });
  const successes = Object.entries(jsonOf(shown['responses'])).filter(([status]) => status.startsWith('2'));
  return {
    id: shown['operationId'],
    parameters: resolved.map(({ name, in: place, required = false, schema }) => ({
      name,
      in: place,
      required,
      schema,
    })),
    body: schemaIn(shown['requestBody']),
    answers: Object.fromEntries(successes.map(([status, answer]) => [status, schemaIn(answer) ?? null])),
  };
}

/** The binding part of a document. */
export function contractOf(document: Json): Contract {
  const components = jsonOf(document['components']);
  const operations = Object.entries(jsonOf(document['paths'])).flatMap(([path, methods]) =>
    Object.entries(jsonOf(methods)).map(([method, shown]): [string, Json] => [
      `${method.toUpperCase()} ${path}`,
      operationOf(jsonOf(shown), jsonOf(components['parameters'])),
    ]),
  );
  const contract = { operations: Object.fromEntries(operations), schemas: jsonOf(components['schemas']) };
  return withoutProse(JSON.parse(JSON.stringify(contract)), true) as Contract;
}

interface Place {
  before: Contract;
  after: Contract;
  /** Clients send it, or they read it. */
  way: 'sent' | 'read';
  at: string;
  seen: ReadonlySet<string>;
}

const nameOf = (schema: unknown): string | null => {
  const ref = jsonOf(schema)['$ref'];
  return typeof ref === 'string' ? (ref.split('/').at(-1) ?? null) : null;
};
const resolve = (schema: unknown, { schemas }: Contract): Json => {
  const name = nameOf(schema);
  return name === null ? jsonOf(schema) : jsonOf(schemas[name]);
};

/** The members of a union; a plain schema is its own only member. */
const membersOf = (schema: Json): unknown[] => {
  const members = [...listOf(schema['anyOf']), ...listOf(schema['oneOf'])];
  return members.length > 0 ? members : [schema];
};

const UPPER = ['maximum', 'maxLength', 'maxItems', 'maxProperties'];
const LOWER = ['minimum', 'minLength', 'minItems', 'minProperties'];
const EXACT = ['pattern', 'format', 'const', 'uniqueItems', 'multipleOf'];

/** Limits that are narrower than they were; what was never named was unlimited. */
function narrowed(before: Json, after: Json): string[] {
  const number = (value: unknown, otherwise: number): number => (typeof value === 'number' ? value : otherwise);
  const upper = UPPER.filter((name) => number(after[name], Infinity) < number(before[name], Infinity));
  const lower = LOWER.filter((name) => number(after[name], -Infinity) > number(before[name], -Infinity));
  const exact = EXACT.filter((name) => after[name] !== undefined && after[name] !== before[name]);
  return [...upper, ...lower, ...exact];
}

/** None means any. */
const typesOf = ({ type }: Json): string[] => [type].flat().filter((one) => typeof one === 'string');
const holds = (all: string[], some: string[]): boolean =>
  some.every((type) => all.includes(type) || (type === 'integer' && all.includes('number')));

/** True when values that were fine may now be refused, or values may be read that never were. */
function isOtherType(way: Place['way'], before: string[], after: string[]): boolean {
  const [narrow, wide] = way === 'sent' ? [before, after] : [after, before];
  if (wide.length === 0) return false;
  return narrow.length === 0 || !holds(wide, narrow);
}

function compareValues({ at, way }: Place, before: Json, after: Json): string[] {
  const found: string[] = [];
  const [old, now] = [typesOf(before), typesOf(after)];
  if (isOtherType(way, old, now)) found.push(`${at}: type was ${old.join(' or ')}, is ${now.join(' or ')}`);
  const kept = after['enum'] === undefined ? null : listOf(after['enum']);
  const gone = kept ? listOf(before['enum']).filter((value) => !kept.includes(value)) : [];
  if (gone.length > 0) found.push(`${at}: no longer takes ${gone.join(', ')}`);
  if (way === 'read') return found;
  if (kept && before['enum'] === undefined) found.push(`${at}: is now an enum`);
  return [...found, ...narrowed(before, after).map((name) => `${at}: narrower ${name}`)];
}

function compareFields(place: Place, before: Json, after: Json): string[] {
  const { at, way } = place;
  const [old, now] = [jsonOf(before['properties']), jsonOf(after['properties'])];
  const [needed, needs] = [listOf(before['required']), listOf(after['required'])];
  const found = Object.keys(old).flatMap((name) =>
    name in now ? compare({ ...place, at: `${at}.${name}` }, old[name], now[name]) : [`${at}.${name}: removed`],
  );
  const required = way === 'sent' ? needs.filter((name) => !needed.includes(name)) : [];
  const vanishing = way === 'read' ? needed.filter((name) => !needs.includes(name) && String(name) in now) : [];
  const closed = way === 'sent' && before['additionalProperties'] !== false && after['additionalProperties'] === false;
  return [
    ...found,
    ...required.map((name) => `${at}.${String(name)}: is now required`),
    ...vanishing.map((name) => `${at}.${String(name)}: may now be absent`),
    ...(closed ? [`${at}: no longer takes other fields`] : []),
  ];
}

/** A member with a name is the one of that name; one without is the same as before, or the one in its place. */
function twinOf(member: unknown, own: unknown[], others: unknown[]): unknown {
  const name = nameOf(member);
  if (name !== null) return others.find((other) => nameOf(other) === name);
  const unnamed = (members: unknown[]): unknown[] =>
    members.filter((one) => nameOf(one) === null && jsonOf(one)['type'] === jsonOf(member)['type']);
  const same = JSON.stringify(member);
  return others.find((other) => JSON.stringify(other) === same) ?? unnamed(others)[unnamed(own).indexOf(member)];
}

function compareUnions(place: Place, old: unknown[], now: unknown[]): string[] {
  const { at, way } = place;
  const label = (member: unknown): string => nameOf(member) ?? String(jsonOf(member)['type']);
  const lost = way === 'sent' ? old.filter((member) => !twinOf(member, old, now)) : [];
  const added = way === 'read' ? now.filter((member) => !twinOf(member, now, old)) : [];
  return [
    ...lost.map((member) => `${at}: no longer takes ${label(member)}`),
    ...added.map((member) => `${at}: may now be ${label(member)}`),
    ...old.flatMap((member) => {
      const twin = twinOf(member, old, now);
      return twin === undefined ? [] : compare(place, member, twin);
    }),
  ];
}

function compare(place: Place, before: unknown, after: unknown): string[] {
  const names = `${nameOf(before) ?? ''} ${nameOf(after) ?? ''}`;
  // A schema may contain itself, and a pair that was looked at once says nothing new.
  if (names !== ' ' && place.seen.has(names)) return [];
  const here = names === ' ' ? place : { ...place, seen: new Set([...place.seen, names]) };
  const [old, now] = [resolve(before, place.before), resolve(after, place.after)];
  const [olds, nows] = [membersOf(old), membersOf(now)];
  const isUnion = olds.length > 1 || nows.length > 1;
  return [
    ...(isUnion ? compareUnions(here, olds, nows) : compareValues(here, old, now)),
    ...compareFields(here, old, now),
    ...(old['items'] && now['items'] ? compare({ ...here, at: `${place.at}[]` }, old['items'], now['items']) : []),
  ];
}

function compareParameters(place: Place, before: Json, after: Json): string[] {
  const key = (parameter: unknown): string => `${String(jsonOf(parameter)['in'])} ${String(jsonOf(parameter)['name'])}`;
  const old = new Map(listOf(before['parameters']).map((parameter) => [key(parameter), jsonOf(parameter)]));
  const now = new Map(listOf(after['parameters']).map((parameter) => [key(parameter), jsonOf(parameter)]));
  const at = (name: string): string => `${place.at} ${name}`;
  return [
    ...[...old].flatMap(([name, parameter]) => {
      const twin = now.get(name);
      return twin ? compare({ ...place, at: at(name) }, parameter['schema'], twin['schema']) : [`${at(name)}: removed`];
    }),
    ...[...now]
      .filter(([name, { required }]) => required === true && old.get(name)?.['required'] !== true)
      .map(([name]) => `${at(name)}: is now required`),
  ];
}

/** Every break, as `operation place: what`. Additions are none. */
export function breakingChanges(before: Contract, after: Contract): string[] {
  return Object.entries(before.operations).flatMap(([name, old]) => {
    const now = after.operations[name];
    if (!now) return [`${name}: removed`];
    const sent: Place = { before, after, way: 'sent', at: name, seen: new Set() };
    const answers = jsonOf(now['answers']);
    return [
      ...(old['id'] === now['id'] ? [] : [`${name}: is no longer called ${String(old['id'])}`]),
      ...compareParameters(sent, old, now),
      ...compare({ ...sent, at: `${name} body` }, old['body'], now['body']),
      ...Object.entries(jsonOf(old['answers'])).flatMap(([status, answer]) =>
        status in answers
          ? compare({ ...sent, way: 'read', at: `${name} ${status}` }, answer, answers[status])
          : [`${name} ${status}: no longer answered`],
      ),
    ];
  });
}

/** What was released goes on working: the code against the last baseline, and the comparison against seeded breaks. */
import { currentContract, releasedContract } from '../../scripts/baseline';
import { breakingChanges, type Contract } from '../../scripts/breaking-changes';

interface Json {
  [name: string]: Json;
}

const TICKETS = '/psa/api/tickets';
const current = currentContract();
/** Tickets are enough to see that a kind of break is found; comparing everything takes half a second each time. */
const released: Contract = {
  schemas: current.schemas,
  operations: Object.fromEntries(Object.entries(current.operations).filter(([name]) => name.includes(TICKETS))),
};
const releasedText = JSON.stringify(released);

test('nothing breaks clients of the last release without a version or a deprecation', () => {
  // Meant, and not yet released: `npx tsx scripts/baseline.ts`. Released: a row in src/contracts/version.ts first.
  expect(breakingChanges(releasedContract(), current)).toEqual([]);
});

/** The contract as it would be after an edit. */
function edited(edit: (contract: Json) => void): Contract {
  const copy = JSON.parse(releasedText) as Json;
  edit(copy);
  return copy as unknown as Contract;
}
const brokenBy = (edit: (contract: Json) => void): string[] => breakingChanges(released, edited(edit));

const at = (json: Json | undefined, ...path: (string | number)[]): Json => {
  const found = path.reduce<Json | undefined>((place, name) => place?.[name], json);
  if (!found) throw new Error(`nothing at ${path.join(' ')}`);
  return found;
};
const set = (json: Json, name: string, value: unknown): void => {
  json[name] = value as Json;
};
/** The schema behind a reference somewhere in an operation. */
const named = (contract: Json, reference: Json): Json =>
  at(contract, 'schemas', (reference['$ref'] as unknown as string).split('/').at(-1) ?? '');
const ticket = (contract: Json) => named(contract, at(contract, 'operations', `GET ${TICKETS}/{id}`, 'answers', '200'));
const creation = (contract: Json) => named(contract, at(contract, 'operations', `POST ${TICKETS}`, 'body'));
const limit = (contract: Json) =>
  Object.values<Json>(at(contract, 'operations', `GET ${TICKETS}`, 'parameters')).find(
    ({ name }) => (name as unknown) === 'limit',
  ) as Json;

const BREAKS: [string, (contract: Json) => void, RegExp][] = [
  ['a removed operation', (c) => delete at(c, 'operations')[`GET ${TICKETS}`], /^GET \/psa\/api\/tickets: removed$/m],
  ['a renamed operation', (c) => set(at(c, 'operations', `GET ${TICKETS}`), 'id', 'x'), /no longer called listTickets/],
  [
    'a removed answer',
    (c) => delete at(c, 'operations', `POST ${TICKETS}`, 'answers')['201'],
    /201: no longer answered/,
  ],
  ['a removed field of an answer', (c) => delete at(ticket(c), 'properties')['subject'], /200.subject: removed/],
  ['a removed field of a request', (c) => delete at(creation(c), 'properties')['priority'], /body.priority: removed/],
  ['a removed parameter', (c) => set(limit(c), 'name', 'size'), /query limit: removed/],
  ['a parameter that is now required', (c) => set(limit(c), 'required', true), /query limit: is now required/],
  [
    'a field that is now required',
    (c) => set(creation(c), 'required', ['subject', 'priority']),
    /body.priority: is now required/,
  ],
  ['a field that may now be absent', (c) => set(ticket(c), 'required', []), /200.id: may now be absent/],
  [
    'a removed enum member',
    (c) => set(at(creation(c), 'properties', 'priority'), 'enum', ['low', 'medium', 'high']),
    /priority: no longer takes critical/,
  ],
  [
    'another type',
    (c) => set(at(ticket(c), 'properties', 'version'), 'type', 'string'),
    /version: type was integer, is string/,
  ],
  [
    'a field that may now be null',
    (c) => set(at(ticket(c), 'properties'), 'id', { anyOf: [{ type: 'string' }, { type: 'null' }] }),
    /id: may now be null/,
  ],
  [
    'a shorter text',
    (c) => set(at(creation(c), 'properties', 'subject'), 'maxLength', 10),
    /subject: narrower maxLength/,
  ],
  ['a higher minimum', (c) => set(at(limit(c), 'schema'), 'minimum', 5), /limit: narrower minimum/],
  ['a new pattern', (c) => set(at(creation(c), 'properties', 'subject'), 'pattern', '^x'), /subject: narrower pattern/],
];

test.each(BREAKS)('%s is seen', (_what, edit, expected) => {
  const found = brokenBy(edit);
  expect(found.join('\n')).toMatch(expected);
});

test.each<[string, (contract: Json) => void]>([
  ['nothing', () => undefined],
  ['a new operation', (c) => set(at(c, 'operations'), 'GET /psa/api/new', at(c, 'operations', `GET ${TICKETS}`))],
  ['a new field of an answer', (c) => set(at(ticket(c), 'properties'), 'mood', { type: 'string' })],
  ['a new optional field of a request', (c) => set(at(creation(c), 'properties'), 'mood', { type: 'string' })],
  [
    'a new enum member',
    (c) => set(at(creation(c), 'properties', 'priority'), 'enum', ['low', 'medium', 'high', 'critical', 'x']),
  ],
  ['a wider text', (c) => set(at(creation(c), 'properties', 'subject'), 'maxLength', 100_000)],
  ['a field that is no longer required', (c) => set(creation(c), 'required', [])],
])('%s breaks nobody', (_what, edit) => {
  expect(brokenBy(edit)).toEqual([]);
});

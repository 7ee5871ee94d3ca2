/** A new resource is a declaration and nothing else: everything about one that does not exist follows from its row. */
import { bodyValidator } from '../../../src/http/validate';
import { routesOf } from '../../../src/contracts/operations/products';
import { eventEntriesOf } from '../../../src/resources/events';
import { field } from '../../../src/resources/field';
import { filterParameters, sortFields } from '../../../src/resources/filters';
import { resource } from '../../../src/resources/resource';
import { enters, exampleId, moves } from '../../../src/resources/rules';
import { schemasOf } from '../../../src/resources/schemas';

const lamps = resource({
  products: ['rmm'],
  path: 'signal-lamps',
  nouns: ['signal lamp', 'signal lamps'],
  eventNoun: 'lamp',
  prefix: 'lmp',
  category: 'operations',
  fields: {
    name: field.string().required().sortable(),
    companyId: field.ref('companies').required().filterable(),
    colour: field.choice(['red', 'green']).default('red').filterable().sortable(),
    builtOn: field.date().fixed(),
    litAt: field.datetime().serverSet().sortable(),
  },
  label: 'name',
  lists: ['companyId'],
  labelled: ['companyId'],
  states: moves('colour', { green: [] }),
  also: (_lamp, labels) => ({ company: labels['companyId'] ?? null }),
  events: {
    created: { on: 'create', text: 'A lamp was hung up.' },
    removed: { on: 'delete', text: 'A lamp was taken down.' },
    cleared: { on: 'update', text: 'A lamp turned green.', when: enters('colour', 'green') },
  },
  examples: { create: { name: 'Main line', companyId: exampleId('cmp') }, update: { colour: 'green' } },
});

test('its names follow from its product, path and nouns', () => {
  expect(lamps).toMatchObject({
    key: 'signal-lamps',
    collection: 'rmm_signal_lamps',
    typeName: 'SignalLamp',
    typeNames: 'SignalLamps',
    singular: 'lamp',
    eventProduct: 'rmm',
  });
});

test('its schemas follow from its fields', () => {
  const { create, patch, record } = schemasOf(lamps);
  expect([create.$id, patch.$id, record.$id]).toEqual(['CreateSignalLamp', 'UpdateSignalLamp', 'SignalLamp']);
  const [takesCreate, takesPatch] = [bodyValidator(create), bodyValidator(patch)];
  expect(takesCreate(lamps.examples.create)).toEqual([]);
  expect(takesPatch(lamps.examples.update)).toEqual([]);
  expect(takesCreate({ name: 'Main line' })).toMatchObject([{ path: '/companyId' }]);
  expect(takesCreate({ ...lamps.examples.create, litAt: null })).toMatchObject([{ code: 'unknown_field' }]);
  expect(takesPatch({ colour: 'blue' })).toMatchObject([{ code: 'enum' }]);
});

test('its operations follow from its path, and ask for the scope of its product', () => {
  const routes = routesOf(lamps, 'rmm');
  expect(routes.map(({ operation: { id, method, path } }) => `${id}: ${method} ${path}`)).toEqual([
    'listSignalLamps: GET /api/signal-lamps',
    'countSignalLamps: GET /api/signal-lamps/count',
    'createSignalLamp: POST /api/signal-lamps',
    'getSignalLamp: GET /api/signal-lamps/:id',
    'updateSignalLamp: PATCH /api/signal-lamps/:id',
    'deleteSignalLamp: DELETE /api/signal-lamps/:id',
    'restoreSignalLamp: POST /api/signal-lamps/:id/restore',
    'batchGetSignalLamps: POST /api/signal-lamps/batch',
  ]);
  for (const { operation } of routes) expect(operation.access).toMatchObject({ kind: 'product', scopes: ['RMM'] });
});

test('a trait gives its records notes, as their own resource below them', () => {
  const noted = resource({
    ...lamps,
    path: 'noted-lamps',
    key: 'noted-lamps',
    nouns: ['noted lamp', 'lamps'],
    hasNotes: true,
  } as never);
  const added = routesOf(noted, 'rmm').filter(({ operation }) => operation.path.includes('notes'));
  expect(added.map(({ operation: { id, method, path } }) => `${id}: ${method} ${path}`)).toEqual([
    'listNotedLampNotes: GET /api/noted-lamps/:id/notes',
    'createNotedLampNote: POST /api/noted-lamps/:id/notes',
    'getNotedLampNote: GET /api/noted-lamps/:id/notes/:noteId',
    'updateNotedLampNote: PATCH /api/noted-lamps/:id/notes/:noteId',
    'deleteNotedLampNote: DELETE /api/noted-lamps/:id/notes/:noteId',
  ]);
  const [list] = added;
  expect(list?.resource).toMatchObject({ collection: 'rmm_noted_lamp_notes', key: 'noted-lamps.notes' });
  expect(Object.keys(list?.resource.events ?? {})).toEqual(['note_added']);
  const takes = bodyValidator(schemasOf(list?.resource ?? noted).create);
  expect(takes({ body: 'x'.repeat(65_536) })).toEqual([]);
  expect(takes({ body: 'x'.repeat(65_537) })).toMatchObject([{ path: '/body' }]);
  expect(takes({ visibility: 'public' })).toMatchObject([{ path: '/body' }]);
  expect(takes({ body: 'x', authorId: 'usr_other' })).toMatchObject([{ code: 'unknown_field' }]);
  for (const { operation } of added) expect(operation.portal).toBeUndefined();
});

test('a trait makes it one of a kind, at an address of its own', () => {
  const house = resource({
    ...lamps,
    path: 'signal-house',
    nouns: ['signal house', 'houses'],
    isSingleton: true,
  } as never);
  const added = routesOf(house, 'rmm').filter(({ action }) => action.endsWith('Current'));
  expect(added.map(({ operation: { id, method, path } }) => `${id}: ${method} ${path}`)).toEqual([
    'getCurrentSignalHouse: GET /api/signal-house/current',
    'updateCurrentSignalHouse: PATCH /api/signal-house/current',
  ]);
  const shows = bodyValidator(schemasOf(house).current);
  const unset = { id: null, version: 0, name: null, companyId: null, colour: 'red', builtOn: null, litAt: null };
  const base = {
    externalRefs: [],
    customFields: {},
    createdAt: null,
    updatedAt: null,
    createdBy: null,
    deletedAt: null,
  };
  expect(shows({ ...unset, ...base })).toEqual([]);
  expect(shows({ ...unset, ...base, colour: null })).not.toEqual([]);
});

test('its filters and orders follow from the traits of its fields', () => {
  const names = filterParameters(lamps).map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['companyId', 'companyId.in', 'colour', 'colour.nin', 'createdAt.gte']));
  expect(names.filter((name) => /^(name|builtOn|litAt)/.test(name))).toEqual([]);
  expect([...sortFields(lamps).keys()]).toEqual(['name', 'colour', 'litAt', 'createdAt', 'updatedAt']);
});

test('its events are in the catalog with what they carry', () => {
  const [created, removed, cleared, restored] = eventEntriesOf(lamps);
  expect(created).toMatchObject({
    id: 'rmm:lamp.created',
    description: 'A lamp was hung up.',
    sample_payload: { lamp_id: exampleId('lmp'), client_id: exampleId('cmp'), company: 'Northwind Dental' },
  });
  expect([removed?.id, restored?.id]).toEqual(['rmm:lamp.removed', 'rmm:lamp.restored']);
  expect(restored).toMatchObject({ description: 'A deleted signal lamp was restored.' });
  expect(cleared).toMatchObject({
    id: 'rmm:lamp.cleared',
    sample_payload: { colour: 'green', changed: ['colour'], previous: { colour: 'red' } },
  });
  expect(cleared?.filterable_fields).toContainEqual({
    path: 'colour',
    label: 'Colour',
    type: 'enum',
    enum_values: ['red', 'green'],
  });
});

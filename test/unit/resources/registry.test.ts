/** What every row of the registry must keep to, so that a new row is only a declaration. */
import { bodyValidator } from '../../../src/http/validate';
import { productRoutes } from '../../../src/contracts/operations/products';
import { countedValue } from '../../../src/resources/field';
import { filterParameters, sortFields } from '../../../src/resources/filters';
import { RESOURCES, resourceOf } from '../../../src/resources/registry';
import { schemasOf } from '../../../src/resources/schemas';

const each = RESOURCES.map((row) => [row.key, row] as const);
const unique = (values: readonly string[]) => expect(values.toSorted()).toEqual([...new Set(values)].toSorted());

test('keys, prefixes, collections and type names are given once', () => {
  for (const name of ['key', 'prefix', 'collection', 'typeName'] as const) unique(RESOURCES.map((row) => row[name]));
  unique(RESOURCES.map(({ eventProduct, singular }) => `${eventProduct}:${singular}`));
});

test('operation ids are unique and follow from the nouns', () => {
  const ids = productRoutes.map(({ operation }) => operation.id);
  unique(ids);
  expect(ids).toEqual(
    expect.arrayContaining([
      'listTickets',
      'createTicket',
      'getTicket',
      'updateTicket',
      'deleteTicket',
      'batchGetTickets',
    ]),
  );
  expect(ids).toEqual(
    expect.arrayContaining(['listCatalogItems', 'listContacts', 'listCrmContacts', 'batchGetCrmCompanies']),
  );
});

test('an operation asks for the scope of its product and the permission of what it does', () => {
  const accessOf = (id: string) => productRoutes.find(({ operation }) => operation.id === id)?.operation.access;
  expect(accessOf('listTickets')).toEqual({ kind: 'product', scopes: ['PSA'], permission: 'products:read' });
  expect(accessOf('batchGetTickets')).toEqual({ kind: 'product', scopes: ['PSA'], permission: 'products:read' });
  expect(accessOf('updateCrmContact')).toEqual({ kind: 'product', scopes: ['CRM'], permission: 'products:write' });
  expect(accessOf('deleteTicket')).toEqual({ kind: 'product', scopes: ['PSA'], permission: 'products:delete' });
});

describe.each(each)('%s', (_key, row) => {
  test('references, lists and states name what exists', () => {
    const fieldNames = Object.keys(row.fields);
    for (const { traits } of Object.values(row.fields))
      if (traits.target) expect(resourceOf(traits.target)).toBeDefined();
    expect(fieldNames).toEqual(expect.arrayContaining([row.label, ...row.lists]));
    if (row.states)
      expect(row.fields[row.states.field]?.traits.schema['enum']).toEqual(
        expect.arrayContaining(Object.keys(row.states.from)),
      );
    for (const name of row.lists) expect(row.fields[name]?.traits.isFilterable).toBe(true);
  });

  test('labels are asked of fields that exist, in the records that they name', () => {
    for (const path of row.labelled) {
      const [name = '', ...further] = path.split('.');
      let target = resourceOf(row.fields[name]?.traits.target ?? '');
      for (const of of further) {
        const asked = target.fields[of];
        expect([path, asked]).toEqual([path, expect.anything()]);
        if (asked?.traits.target) target = resourceOf(asked.traits.target);
      }
    }
  });

  test('defaults and counters are values the field itself allows', () => {
    for (const { traits } of Object.values(row.fields)) {
      const value = traits.countsFrom === null ? traits.fallback : countedValue(traits, traits.countsFrom);
      if (value !== null) expect(bodyValidator(traits.schema as never)(value)).toEqual([]);
    }
  });

  test('the example of a change keeps what is said once, and every reference of an example has the right kind', () => {
    for (const name of Object.keys(row.examples.update)) expect(row.fields[name]?.traits.isFixed).toBe(false);
    for (const [name, value] of Object.entries(row.examples.create)) {
      const target = row.fields[name]?.traits.target;
      if (target) expect(value).toMatch(new RegExp(`^${resourceOf(target).prefix}_`));
    }
  });

  test('its schemas are usable and closed where clients write', () => {
    const { create, patch, record } = schemasOf(row);
    for (const schema of [create, patch, record]) expect(bodyValidator(schema)(null)).not.toEqual([]);
    expect([create['additionalProperties'], patch['additionalProperties'], record['additionalProperties']]).toEqual([
      false,
      false,
      undefined,
    ]);
  });

  test('what the server sets cannot be written, and what must be given can never be cleared', () => {
    const { create, patch } = schemasOf(row);
    const [createNull, patchNull] = [bodyValidator(create), bodyValidator(patch)];
    for (const [name, declared] of Object.entries(row.fields)) {
      const { isServerSet, isRequired, fallback } = declared.traits;
      const clears = !isServerSet && !isRequired && fallback === null;
      expect({ name, clears: patchNull({ [name]: null }).length === 0 }).toEqual({ name, clears });
      if (isServerSet)
        expect(createNull({ ...row.examples.create, [name]: null })).toMatchObject([{ code: 'unknown_field' }]);
    }
    expect(patchNull({})).toHaveLength(1);
  });

  test('every sort field is filterable by range or is text, and parameters are named once', () => {
    unique(filterParameters(row).map(({ name }) => name));
    expect([...sortFields(row).keys()]).toEqual(expect.arrayContaining(['createdAt', 'updatedAt']));
  });

  test('every event rule says what it is about', () => {
    for (const [name, { text }] of Object.entries(row.events))
      expect(`${name}: ${text}`).toMatch(/^[a-z_]+: [A-Z].*\.$/);
  });
});

test('a reference to a resource that is not registered is a programming error', () => {
  expect(() => resourceOf('unicorns')).toThrow('unicorns');
});

test('shared resources have one collection, all others one of their own', () => {
  const shared = RESOURCES.filter(({ products }) => products.length > 1).map(({ collection }) => collection);
  expect(shared).toEqual(['companies', 'contacts']);
  for (const { products, collection } of RESOURCES)
    if (products.length === 1) expect(collection).toMatch(new RegExp(`^${products[0]}_[a-z_]+$`));
});

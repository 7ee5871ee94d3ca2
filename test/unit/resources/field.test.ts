/** The words that fields are declared with. */
import { field, type Field } from '../../../src/resources/field';
import { pascalCase, sentenceCase, snakeCase } from '../../../src/resources/names';
import { bodyValidator } from '../../../src/http/validate';

const takes = (declared: Field, value: unknown): boolean =>
  bodyValidator(declared.traits.schema as never)(value).length === 0;

test('a word makes a new field and leaves the one it was said to alone', () => {
  const plain = field.string();
  const told = plain.required().filterable().sortable().serverSet().fixed();
  const names = ['isRequired', 'isFilterable', 'isSortable', 'isServerSet', 'isFixed'] as const;
  expect(names.map((name) => plain.traits[name])).toEqual(names.map(() => false));
  expect(names.map((name) => told.traits[name])).toEqual(names.map(() => true));
});

test('only a field without a requirement, a default and a counter can be null', () => {
  expect(field.string().isNullable).toBe(true);
  expect(field.string().serverSet().isNullable).toBe(true);
  expect(field.string().required().isNullable).toBe(false);
  expect(field.string().default('x').isNullable).toBe(false);
  expect(field.boolean().default(false).isNullable).toBe(false);
  expect(field.integer().counted(1).isNullable).toBe(false);
});

test('a required text is not empty', () => {
  expect([
    takes(field.string(), ''),
    takes(field.string().required(), ''),
    takes(field.string().required(), 'a'),
  ]).toEqual([true, false, true]);
});

test.each<[string, Field, unknown[], unknown[]]>([
  ['choice', field.choice(['a', 'b']), ['a'], ['c', '', null, 1]],
  ['choices', field.choices(['a', 'b']), [[], ['a', 'b']], [['a', 'a'], ['c'], 'a']],
  ['product', field.product(), ['psa', 'console'], ['agents', 'PSA']],
  ['integer', field.integer(0, 3), [0, 3], [-1, 4, 1.5, '1']],
  ['money', field.money(), [0, -100], [0.5, 1e16]],
  ['boolean', field.boolean(), [true], ['true', 0]],
  ['datetime', field.datetime(), ['2026-11-20T22:40:00.000Z', '2026-11-20T22:40:00+01:00'], ['2026-11-20', 'now', 5]],
  ['date', field.date(), ['2026-11-20'], ['2026-11-20T00:00:00Z', '20.11.2026']],
  ['email', field.email(), ['ana@northwind.example'], ['ana', 'a b@c.d']],
  ['phone', field.phone(), ['+1 (555) 010-0', '0'.repeat(40)], ['call me', '', '   ', '--/--', '0'.repeat(42)]],
  [
    'string',
    field.string(),
    ['a', ' a b ', 'Ünïcode 🦊', ''],
    [' ', '\u00A0', 'a\nb', 'a\tb', '\u0000', '\u0085', '\u2028', 'a\u007F', 'x'.repeat(256)],
  ],
  ['message', field.message(), ['line 1\nline 2'], ['x'.repeat(256)]],
  [
    'uri',
    field.uri(),
    ['https://northwind.example/x', 'http://a:8080?q'],
    ['northwind', 'javascript:alert(1)', 'data:text/html,x', 'https://'],
  ],
  [
    'ipAddress',
    field.ipAddress(),
    ['10.0.0.1', '::1', '::', 'fe80::1:2', '1:2:3:4:5:6:7:8', '1::'],
    ['host', '10.0.0.256', '1.2.3', '::::', '1:2:3', '1::2::3', '01.2.3.4', '1:2:3:4:5:6:7:8:9'],
  ],
  ['currency', field.currency(), ['EUR'], ['eur', 'EURO']],
  ['country', field.country(), ['DE'], ['de', 'DEU']],
  ['color', field.color(), ['#1a73e8'], ['blue', '#fff']],
  ['slug', field.slug(), ['north-wind'], ['-a', 'a--b', 'A']],
  ['technique', field.technique(), ['T1059', 'T1059.001'], ['T1', 't1059']],
  ['sha256', field.sha256(), ['a'.repeat(64)], ['A'.repeat(64), 'a']],
  ['id', field.id(), ['usr_1'], ['a b', '', 'x'.repeat(65)]],
  ['ref', field.ref('boards'), ['brd_1'], [5]],
  ['strings', field.strings(), [[], ['a']], [[''], 'a', Array.from({ length: 101 }, () => 'a')]],
  [
    'object',
    field.object(),
    [{ a: 1, b: ['x'] }, { steps: [{ next: { $ne: [{ '': 1 }] } }] }],
    [{ $ne: 1 }, { '1': 1 }, []],
  ],
  [
    'lines',
    field.lines(),
    [[{ description: 'a', quantity: 1.5, unitPrice: -5 }]],
    [
      [],
      [{ description: 'a', quantity: 1, unitPrice: 1.5 }],
      [{ description: 'a', quantity: 1, unitPrice: 1, vat: 1 }],
    ],
  ],
  ['text', field.text(), ['x'.repeat(10_000)], ['x'.repeat(10_001)]],
  ['document', field.document(), ['x'.repeat(64_000)], ['x'.repeat(64_001)]],
])('%s takes its own values and no others', (_name, declared, good, bad) => {
  expect(good.filter((value) => !takes(declared, value))).toEqual([]);
  expect(bad.filter((value) => takes(declared, value))).toEqual([]);
});

test('one name has the spelling of where it is used', () => {
  expect([snakeCase('companyId'), snakeCase('catalog item'), snakeCase('service-catalog')]).toEqual([
    'company_id',
    'catalog_item',
    'service_catalog',
  ]);
  expect([pascalCase('catalog items'), sentenceCase('catalog items')]).toEqual(['CatalogItems', 'Catalog items']);
});

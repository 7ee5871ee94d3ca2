/** Every example of docs/reference/rules-and-texts.md, tried; and nothing that exists is missing there. */
import { readFileSync } from 'node:fs';
import { OPERATORS, type Filter, type Operator } from '../../src/contracts/condition';
import { FIELD_TYPES } from '../../src/contracts/event';
import { matchesFilters } from '../../src/domain/conditions';
import { operatorFlaw, valueFlaw } from '../../src/domain/definition/operators';
import { ANY, list, value as valueShape } from '../../src/domain/definition/shapes';
import { HELPER_NAMES } from '../../src/domain/placeholders';
import { renderText } from '../../src/domain/text';

const PAGE = readFileSync('docs/reference/rules-and-texts.md', 'utf8');
const NOW = new Date('2026-11-20T09:00:00Z');

const cellsOf = (row: string): string[] =>
  row
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));

/** The rows of the table below a heading, each as its cells. */
function tableBelow(heading: string): string[][] {
  const section = PAGE.split(`\n${heading}\n`)[1]?.split(/\n#/)[0] ?? '';
  return section
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map(cellsOf);
}

const codesIn = (cell: string): string[] => [...cell.matchAll(/`([^`]*)`/g)].map(([, code]) => code ?? '');
const valueIn = (cell: string): { value?: unknown } =>
  cell === '–' ? {} : { value: JSON.parse(codesIn(cell)[0] ?? '') as unknown };

interface Example {
  rule: Filter;
  payload: Record<string, unknown>;
  holds: boolean;
}

const payloadsIn = (cell: string): Record<string, unknown>[] => [
  ...codesIn(cell).map((code) => ({ field: JSON.parse(code) as unknown })),
  ...(cell.includes('absent') ? [{}] : []),
];

const operators = tableBelow('## Operators');
const changes = tableBelow('### What changed');
const texts = tableBelow('## Placeholders');

const examples: Example[] = [
  ...operators.flatMap(([name = '', , value = '', holds = '', not = '']) => {
    const rule = { field: 'field', operator: codesIn(name)[0] as Operator, ...valueIn(value) };
    return [
      ...payloadsIn(holds).map((payload) => ({ rule, payload, holds: true })),
      ...payloadsIn(not).map((payload) => ({ rule, payload, holds: false })),
    ];
  }),
  ...changes.map(([name = '', value = '', payload = '', holds]) => ({
    rule: { field: 'priority', operator: codesIn(name)[0] as Operator, ...valueIn(value) },
    payload: JSON.parse(codesIn(payload)[0] ?? '') as Record<string, unknown>,
    holds: holds === 'yes',
  })),
];

test.each(examples)('$rule.operator $rule.value on $payload: $holds', ({ rule, payload, holds }) => {
  expect(matchesFilters([rule], payload, NOW).holds).toBe(holds);
  expect(valueFlaw(rule, ANY)).toBeUndefined();
});

/** The types of fields that a cell of the table names. */
function typesIn(cell: string): string[] {
  const [, left] = /^all(?: but (.*))?$/.exec(cell) ?? [null, null];
  if (!cell.startsWith('all')) return cell.split(', ').toSorted();
  return FIELD_TYPES.filter((type) => !left?.split(', ').includes(type)).toSorted();
}

test.each(operators.map(([name = '', fields = '']) => [codesIn(name)[0] ?? '', fields]))(
  '%s suits fields of the types: %s',
  (operator, fields) => {
    const rule: Filter = { field: 'field', operator: operator as Operator };
    const shapeOf = (type: (typeof FIELD_TYPES)[number]) => (type === 'array' ? list() : valueShape(type));
    const suited = FIELD_TYPES.filter((type) => operatorFlaw(rule, shapeOf(type)) === undefined);
    expect(typesIn(fields)).toEqual(suited.toSorted());
  },
);

test.each(texts.map(([text = '', becomes = '']) => [codesIn(text)[0] ?? '', codesIn(becomes)[0] ?? '']))(
  '%s becomes %s',
  (text, becomes) => {
    const payload = JSON.parse(/With the payload `(.+)`:/.exec(PAGE)?.[1] ?? '') as unknown;
    expect(renderText(text, { event_payload: payload }, { escapeHtml: false })).toBe(becomes);
  },
);

test('every operator and every helper is on the page', () => {
  expect(new Set(examples.map(({ rule }) => rule.operator))).toEqual(new Set(OPERATORS));
  const helpers = texts.flatMap(([text = '']) => /\{\{(\w+) /.exec(text)?.[1] ?? []);
  expect(new Set(helpers)).toEqual(new Set(HELPER_NAMES));
});

import { placeholdersOf, readTemplate } from '../../../src/domain/placeholders';

test('every path is listed with its helper and place', () => {
  const text =
    'Ticket {{event_payload.ticket_number}}:\n {{upper event_payload.title}} {{default vars.note "none"}}{{steps.a-b.output.items.[0].name}}';
  expect(placeholdersOf(text)).toEqual([
    { path: 'event_payload.ticket_number', line: 1, column: 8 },
    { path: 'event_payload.title', helper: 'upper', line: 2, column: 2 },
    { path: 'vars.note', helper: 'default', line: 2, column: 32 },
    { path: 'steps.a-b.output.items.0.name', line: 2, column: 60 },
  ]);
});

test.each(['', 'plain', 'one { brace } and {"json": true}', '\\{{not.a.placeholder}}'])(
  '%p has no placeholders',
  (text) => {
    expect(readTemplate(text).problems).toEqual([]);
    expect(placeholdersOf(text)).toEqual([]);
  },
);

test('a value named like a helper is a value when nothing is given to it', () => {
  expect(placeholdersOf('{{date}}')).toEqual([{ path: 'date', line: 1, column: 1 }]);
});

test.each([
  ['{{event_payload.title', 'not closed'],
  ['{{}}', 'empty'],
  ['{{ }}', 'empty'],
  ['{{event_payload.title}', 'not closed'],
  ['{{a b', 'not closed'],
  ['{{{event_payload.title}}}', 'two braces'],
  ['{{&event_payload.title}}', 'two braces'],
  ['{"n":{{event_payload.count}}}', 'Put a space'],
  ['{{#if vars.a}}x{{/if}}', 'Blocks, partials'],
  ['{{~#each vars.a}}{{/each}}', 'Blocks, partials'],
  ['{{#*inline "a"}}{{/inline}}', 'Blocks, partials'],
  ['{{{{raw}}}} {{{{/raw}}}}', 'two braces'],
  ['{{> partial}}', 'Blocks, partials'],
  ['{{* decorator}}', 'Blocks, partials'],
  ['{{! comment }}', 'Blocks, partials'],
  ['{{else}}', 'not well formed'],
  ['{{date event_payload.due_at "HH:mm" "Mars/Phobos"}}', 'not the name of a time zone'],
  ['{{date event_payload.due_at "HH:mm" 9}}', 'not the name of a time zone'],
  ['{{@root.secret}}', 'plain dotted path'],
  ['{{../secret}}', 'plain dotted path'],
  ['{{this}}', 'plain dotted path'],
  ['{{this.title}}', 'plain dotted path'],
  ['{{./title}}', 'plain dotted path'],
  ['{{event_payload/title}}', 'plain dotted path'],
  ['{{"text"}}', 'plain dotted path'],
  ['{{upper @root}}', 'plain dotted path'],
  ['{{upper (lower vars.a)}}', 'inside a helper'],
  ['{{upper value=vars.a}}', 'Named arguments'],
  ['{{upper vars.a vars.b}}', 'like this: {{upper event_payload.title}}'],
  ['{{truncate vars.a}}', 'like this'],
  ['{{default vars.a "}}"}}', 'not closed'],
  ['{{default vars.a "it\\"s"}}', 'not closed'],
  ['{{event_payload.tags.0}}', 'tags.[0]'],
  [`{{${'a'.repeat(600)}}}`, 'at most 500 characters'],
  ['{{a}}'.repeat(501), 'at most 500 placeholders'],
  ['x'.repeat(65_537), 'at most 65536 characters'],
])('%p is refused with advice', (text, advice) => {
  const { problems } = readTemplate(text);
  expect(problems[0]).toMatchObject({ code: 'invalid_template', message: expect.stringContaining(advice) as string });
  expect(placeholdersOf(text)).toEqual([]);
});

test('an unknown helper is named, with the one that was meant', () => {
  expect(readTemplate('Hello\n{{uper event_payload.title}}').problems).toEqual([
    {
      code: 'unknown_helper',
      message: expect.stringContaining('"uper" is not a helper') as string,
      suggestion: 'upper',
      line: 2,
      column: 1,
    },
  ]);
});

test.each(['each', 'lookup', 'log', 'with', 'constructor', '__proto__', 'toString'])('%s is no helper', (name) => {
  expect(readTemplate(`{{${name} vars.a}}`).problems[0]?.code).toBe('unknown_helper');
});

test('the place of a problem is told', () => {
  expect(readTemplate('one\ntwo {{#if}}').problems[0]).toMatchObject({ line: 2, column: 5 });
});

test.each([
  ['nested blocks', '{{#a}}'.repeat(10_000)],
  ['escaped nested blocks', '\\\\{{#a}}'.repeat(8_000)],
  ['nested helpers', `{{a ${'(b '.repeat(10_000)}${')'.repeat(10_000)}}}`],
  ['nested helpers that never end', `{{a ${'(b '.repeat(20_000)}`],
  ['nested helpers behind a quoted end', `{{a "}}" ${'(b '.repeat(20_000)}`],
  ['nested helpers behind a bracketed end', `{{a.[ }} ${'(b '.repeat(20_000)}]}}`],
  ['open braces', '{{'.repeat(32_000)],
  ['many placeholders', '{{a}}'.repeat(13_000)],
  ['a long path', `{{${'a.'.repeat(32_000)}a}}`],
])('%s are refused at once, not after minutes in the parser', (_, text) => {
  const started = performance.now();
  expect(readTemplate(text).problems).not.toEqual([]);
  expect(performance.now() - started).toBeLessThan(1_000);
});

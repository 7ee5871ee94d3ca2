import * as fc from 'fast-check';
import {
  asOneLine,
  RENDERED_MAX,
  renderApart,
  renderText,
  renderTexts,
  renderUrl,
  renderValue,
  TextError,
} from '../../../src/domain/text';

const scope = {
  event_payload: {
    title: '  Disk <full> & slow  ',
    count: 3,
    vip: false,
    zero: 0,
    cents: 125_050,
    owed: -12_345,
    currency: 'KWD',
    none: null,
    empty: '',
    tags: ['disk', 'vip', 7],
    contact: { name: 'Ada', 'main phone': '+49' },
    due_at: '2026-11-20T22:40:05.000Z',
    evil: '{{event_payload.contact.name}}',
    date: '2026-01-02',
  },
  steps: { 'tri-age': { output: { label: 'outage', items: [{ id: 'a' }] } } },
};
const plain = (template: string): string => renderText(template, scope, { escapeHtml: false });

test.each([
  ['no placeholders', 'no placeholders'],
  ['{{event_payload.contact.name}}!', 'Ada!'],
  ['{{ event_payload.count }}', '3'],
  ['{{event_payload.vip}}/{{event_payload.zero}}', 'false/0'],
  ['[{{event_payload.none}}{{event_payload.missing}}{{nothing.at.all}}]', '[]'],
  ['{{event_payload.tags}}', 'disk, vip, 7'],
  ['{{event_payload.contact}}', '{"name":"Ada","main phone":"+49"}'],
  ['{{event_payload.contact.[main phone]}}', '+49'],
  ['{{steps.tri-age.output.label}}', 'outage'],
  ['{{steps.tri-age.output.items.[0].id}}', 'a'],
  ['{{steps.tri-age.output.items.0.id}}', 'a'],
  ['a {{~event_payload.count~}} b', 'a3b'],
  ['\\{{event_payload.count}}', '{{event_payload.count}}'],
  ['{{default event_payload.missing "n/a"}}', 'n/a'],
  ['{{default event_payload.empty event_payload.count}}', '3'],
  ['{{default event_payload.zero "n/a"}}', '0'],
  ['{{upper event_payload.contact.name}} {{lower event_payload.contact.name}}', 'ADA ada'],
  ['{{trim event_payload.title}}', 'Disk <full> & slow'],
  ['{{truncate event_payload.contact.name 2}}', 'A…'],
  ['{{truncate event_payload.contact.name 3}}', 'Ada'],
  ['{{truncate event_payload.contact.name "x"}}', '…'],
  ['{{date event_payload.due_at}}', '2026-11-20 22:40 UTC'],
  ['{{date event_payload.due_at "DD.MM.YYYY HH:mm:ss"}}', '20.11.2026 22:40:05'],
  ['{{date event_payload.date "DD/MM"}}', '02/01'],
  ['{{date event_payload.due_at "DD.MM.YYYY HH:mm" "Europe/Berlin"}}', '20.11.2026 23:40'],
  ['{{date event_payload.due_at "DD/MM/YYYY HH:mm" "Australia/Sydney"}}', '21/11/2026 09:40'],
  ['{{date event_payload.due_at null "Asia/Tokyo"}}', '2026-11-21 07:40 +09:00'],
  ['{{date event_payload.due_at "HH:mm" event_payload.title}}', '22:40 UTC'],
  ['{{date event_payload.date "DD/MM" "America/Sao_Paulo"}}', '02/01'],
  ['{{date event_payload.title}}', ''],
  ['{{money event_payload.cents}} {{money event_payload.count}} {{money event_payload.zero}}', '1250.50 0.03 0.00'],
  ['{{money event_payload.owed event_payload.currency}}', '-12.345'],
  ['{{money event_payload.cents "JPY"}} {{money event_payload.cents "no currency"}}', '125050 1250.50'],
  ['[{{money event_payload.missing}}] {{money event_payload.contact.name}} {{money "4800.50"}}', '[] Ada 4800.50'],
  ['{{json event_payload.tags}}', '["disk","vip",7]'],
  ['{{json event_payload.missing}}', 'null'],
  ['{{join event_payload.tags " | "}}', 'disk | vip | 7'],
  ['{{join event_payload.tags}}', 'disk, vip, 7'],
  ['{{join event_payload.count}}', '3'],
  ['{{length event_payload.tags}} {{length event_payload.contact}} {{length event_payload.contact.name}}', '3 2 3'],
  ['{{length event_payload.missing}}', '0'],
  ['{{event_payload.evil}}', '{{event_payload.contact.name}}'],
  ['{{event_payload.tags.length}}', ''],
  ['{{event_payload.constructor}}{{event_payload.__proto__}}{{constructor}}', ''],
])('%p becomes %p', (template, expected) => {
  expect(plain(template)).toBe(expected);
});

test('html is escaped in values, never in the text around them', () => {
  const template = '<b>{{trim event_payload.title}}</b> {{json event_payload.contact}}';
  expect(renderText(template, scope, { escapeHtml: true })).toBe(
    '<b>Disk &lt;full&gt; &amp; slow</b> {&quot;name&quot;:&quot;Ada&quot;,&quot;main phone&quot;:&quot;+49&quot;}',
  );
});

test('objects that imitate the parts of a template engine are only data', () => {
  const hostile = {
    x: { toHTML: 'boom', toString: 1, valueOf: null, toJSON: 'no', call: {}, main: 'x', compiler: [8] },
  };
  expect(renderText('{{x}}', hostile, { escapeHtml: true })).toContain('&quot;toHTML&quot;');
  expect(renderText('{{upper x.toString}}', hostile, { escapeHtml: false })).toBe('1');
});

test('a value is never read as a template, whatever it holds', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (one, other) => {
      const text = `${one}{{secret}}${other}`;
      expect(renderText('{{value}}', { value: text, secret: 'leak' }, { escapeHtml: false })).toBe(text);
    }),
  );
});

test('a text without placeholders comes back as it was', () => {
  fc.assert(
    fc.property(
      fc.string().filter((text) => !text.includes('{{')),
      (text) => {
        expect(renderText(text, {}, { escapeHtml: true })).toBe(text);
      },
    ),
  );
});

test.each(['{{', '{{#if a}}{{/if}}', '{{nope vars.a}}', 'x'.repeat(70_000)])('%p is not rendered', (template) => {
  expect(() => plain(template)).toThrow(TextError);
});

test('a rendering stops before it fills the memory', () => {
  const big = { value: 'x'.repeat(RENDERED_MAX / 4 + 1) };
  expect(renderText('{{value}}{{value}}{{value}}', big, { escapeHtml: false })).toHaveLength(3 * big.value.length);
  expect(() => renderText('{{value}}{{value}}{{value}}{{value}}', big, { escapeHtml: false })).toThrow('would exceed');
  expect(() => renderValue(['{{value}}', ['{{value}}'], { a: '{{value}}', b: '{{value}}' }], big)).toThrow(
    'would exceed',
  );
});

test('texts used long ago are forgotten and still render', () => {
  const first = plain('first {{event_payload.count}}');
  for (let index = 0; index < 600; index += 1) expect(plain(`${index} {{event_payload.count}}`)).toBe(`${index} 3`);
  expect(plain('first {{event_payload.count}}')).toBe(first);
});

test.each<[string, unknown, string[]]>([
  ['{{people}}', ['ada', 'ben'], ['ada', 'ben']],
  ['{{people}}', ['ada', 7, null, ['x'], { a: 1 }], ['ada', '7', '', '["x"]', '{"a":1}']],
  ['{{people}}', 'ada', ['ada']],
  ['{{people}}', [], ['']],
  ['{{people}}', undefined, ['']],
  ['to {{people}}', ['ada', 'ben'], ['to ada, ben']],
  ['{{upper people}}', ['ada', 'ben'], ['ADA, BEN']],
  ['ada', ['ben'], ['ada']],
])('%p with %j stands for %j', (template, people, texts) => {
  expect(renderTexts(template, { people })).toEqual(texts);
});

test('a list of texts stops before it fills the memory', () => {
  const people = Array.from({ length: 3 }, () => 'x'.repeat(400_000));
  expect(() => renderTexts('{{people}}', { people })).toThrow('would exceed');
});

describe('renderUrl', () => {
  const base = 'https://psa.example.com/v1';

  test.each([
    ['/tickets/{{id}}', 'a/b', '/tickets/a%2Fb'],
    ['/tickets/{{id}}', 'a b?x=1&y#z', '/tickets/a%20b%3Fx%3D1%26y%23z'],
    ['/tickets?name={{id}}&limit=1', 'Ada & Co+%', '/tickets?name=Ada%20%26%20Co%2B%25&limit=1'],
    ['/tickets/{{id}}', 'Zoë', '/tickets/Zo%C3%AB'],
    ['/tickets/{{id}}/notes', '..tkt', '/tickets/..tkt/notes'],
    ['/tickets/{{id}}', '\ud800', '/tickets/%EF%BF%BD'],
    ['/tickets/../{{id}}', 'a', '/tickets/../a'],
  ])('%s with %j', (template, id, path) => {
    expect(renderUrl(`${base}${template}`, { id })).toBe(`${base}${path}`);
  });

  test.each([
    ['/tickets/{{id}}/close', '..'],
    ['/tickets/{{id}}', '.'],
    ['/tickets/{{id}}', '..'],
    ['/tickets/{{id}}./x', '.'],
    ['/tickets/{{id}}%2e/x', '.'],
    ['/tickets/{{id}}{{id}}?a=b', '.'],
  ])('no value leads to another path: %s with %j', (template, id) => {
    expect(() => renderUrl(`${base}${template}`, { id })).toThrow('another path');
  });

  test('whatever a value holds, the address keeps its host and the number of its parts', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 20 }), (id) => {
        let rendered: string;
        try {
          rendered = renderUrl(`${base}/a/{{id}}/b?c={{id}}&d=1`, { id });
        } catch (error) {
          if (error instanceof TextError) return;
          throw error;
        }
        const url = new URL(rendered);
        expect([url.origin, url.hash]).toEqual(['https://psa.example.com', '']);
        expect(url.pathname.split('/')).toHaveLength(5);
        expect([...url.searchParams.keys()]).toEqual(['c', 'd']);
        expect(url.searchParams.get('c')).toBe(id.replace(/[\ud800-\udfff]/gu, '\ufffd'));
      }),
    );
  });
});

describe('renderValue', () => {
  test.each([
    ['{{event_payload.count}}', 3],
    ['{{event_payload.vip}}', false],
    ['{{event_payload.tags}}', ['disk', 'vip', 7]],
    ['{{event_payload.contact}}', { name: 'Ada', 'main phone': '+49' }],
    ['{{event_payload.none}}', null],
    ['{{event_payload.missing}}', null],
    [' {{event_payload.count}}', ' 3'],
    ['{{event_payload.count}}{{event_payload.count}}', '33'],
    ['{{length event_payload.tags}}', '3'],
    ['{{event_payload.evil}}', '{{event_payload.contact.name}}'],
    [42, 42],
    [true, true],
    [null, null],
  ])('%p becomes %p', (value, expected) => {
    expect(renderValue(value, scope)).toEqual(expected);
  });

  test('strings are filled at every depth and keys stay as they are', () => {
    const body = { '{{x}}': ['{{event_payload.count}}', { deep: 'n={{event_payload.count}}' }], n: 1 };
    expect(renderValue(body, scope)).toEqual({ '{{x}}': [3, { deep: 'n=3' }], n: 1 });
    expect(body['{{x}}'][0]).toBe('{{event_payload.count}}');
  });

  test('a key called __proto__ stays a key', () => {
    const body = JSON.parse('{"__proto__": {"admin": "{{event_payload.count}}"}}') as unknown;
    const rendered = renderValue(body, scope);
    expect(JSON.stringify(rendered)).toBe('{"__proto__":{"admin":3}}');
    expect((rendered as Record<string, unknown>)['admin']).toBeUndefined();
  });

  test('nesting without end is refused', () => {
    const deep = JSON.parse(`${'['.repeat(9_000)}${']'.repeat(9_000)}`) as unknown;
    expect(() => renderValue(deep, scope)).toThrow('32 levels');
  });
});

describe('renderApart', () => {
  const apart = (template: string) => renderApart(template, scope);

  test('values stand beside the text, which names them', () => {
    expect(apart('About {{event_payload.contact}}: {{event_payload.missing}}{{ event_payload.count }}.')).toEqual({
      text: 'About [event_payload.contact]: [event_payload.missing][event_payload.count].',
      values: {
        'event_payload.contact': scope.event_payload.contact,
        'event_payload.missing': '',
        'event_payload.count': 3,
      },
    });
  });

  test.each([
    ['truncate event_payload.title 7', '  Disk…'],
    ['trim event_payload.title', 'Disk <full> & slow'],
    ['default event_payload.none "fallback"', 'fallback'],
    ['default event_payload.none event_payload.contact.name', 'Ada'],
    ['upper event_payload.contact.name', 'ADA'],
    ['date event_payload.due_at "YYYY"', '2026'],
    ['length event_payload.tags', '3'],
    ['join event_payload.tags "+"', 'disk+vip+7'],
    ['json event_payload.contact.name', '"Ada"'],
  ])('{{%s}} is what its helper makes of it', (inside, expected) => {
    const path = inside.split(' ')[1] ?? '';
    expect(apart(`It is {{${inside}}}.`)).toEqual({ text: `It is [${path}].`, values: { [path]: expected } });
  });

  test('each form of a value has a name of its own, and the same form the same', () => {
    const name = 'event_payload.contact.name';
    expect(apart(`{{${name}}} {{upper ${name}}} {{lower ${name}}} {{upper ${name}}} {{ ${name} }}`)).toEqual({
      text: `[${name}] [${name}-2] [${name}-3] [${name}-2] [${name}]`,
      values: { [name]: 'Ada', [`${name}-2`]: 'ADA', [`${name}-3`]: 'ada' },
    });
  });

  test('what the author alone has written stays in the text', () => {
    expect(apart('Say {{upper "hello"}}.')).toEqual({ text: 'Say HELLO.', values: {} });
  });

  test('no value gets into the text, whatever it holds and whatever is done to it', () => {
    const helped = ['', 'upper ', 'lower ', 'trim ', 'json ', 'join ', 'date ', 'length '];
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (value) => {
        const template = helped.map((helper) => `<{{${helper}event_payload.said}}>`).join('');
        const { text } = renderApart(template, { event_payload: { said: value } });
        expect(text).toMatch(/^(?:<\[event_payload\.said(?:-[2-8])?\]>){8}$/);
      }),
    );
  });

  test('values that would fill the memory are refused, and so is a text that cannot be read', () => {
    const large = { event_payload: { said: 'x'.repeat(RENDERED_MAX) } };
    expect(() => renderApart('{{event_payload.said}} {{upper event_payload.said}}', large)).toThrow(TextError);
    expect(() => renderApart('{{shout event_payload.said}}', large)).toThrow(TextError);
  });
});

test.each([
  ['one  line ', 'one  line '],
  ['two\r\nlines', 'two lines'],
  [' much \n\n \u2028 room \n', 'much room'],
  ['\v\f\u0085\0', ''],
])('%j as one line is %j', (text, expected) => {
  expect(asOneLine(text)).toBe(expected);
});

test('a long text is made one line in little time', () => {
  expect(asOneLine(`${' '.repeat(500_000)}x\n`)).toBe('x');
});

import { array, assert, constantFrom, json, property, string } from 'fast-check';
import { below } from '../../../src/domain/definition/findings';
import { mayBeInexact } from '../../../src/domain/exact-numbers';
import { numberFindings } from '../../../src/http/body-numbers';
import { pure } from '../../support/properties';

const INEXACT = ['9007199254740993', '-9007199254740993', '123456789012345678901234567890', '1e400', '-2.5E+309'];
const EXACT = [
  '9007199254740991',
  '-9007199254740992',
  '100000000000000000000',
  '0',
  '-0',
  '1e20',
  '1.7976931348623157e308',
  '0.1234567890123456789',
];

/** Names with everything that JSON escapes in them. */
const name = string({ unit: 'grapheme', maxLength: 8 });
const beside = json({ maxDepth: 2, noUnicodeString: false });

test('the place of such a number is named, whatever stands around it', () => {
  assert(
    property(array(name, { maxLength: 6 }), beside, constantFrom(...INEXACT), (names, other, number) => {
      const text = names.reduceRight((inner, one) => `[${other},{${JSON.stringify(one)}:${inner}}]`, number);
      const path = names.reduce((outer, one) => below(below(outer, '1'), one), '');
      expect(mayBeInexact(text)).toBe(true);
      expect(numberFindings(text)).toEqual([
        { path, code: 'inexact_number', message: expect.stringContaining(`${number} is more`) as string },
      ]);
    }),
    pure(),
  );
});

test('whatever JavaScript writes is kept as it is', () => {
  assert(
    property(json({ maxDepth: 4 }), (text) => expect(numberFindings(text)).toEqual([])),
    pure(),
  );
});

test.each(EXACT)('%s is kept as it is', (number) => expect(numberFindings(`{"a":[${number}]}`)).toEqual([]));

test.each(INEXACT)('%s in a text or a name is none', (number) =>
  expect(numberFindings(`{"${number}":"\\"${number}","b":"${number}\\\\"}`)).toEqual([]),
);

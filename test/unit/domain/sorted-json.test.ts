import * as fc from 'fast-check';
import { sortedJson } from '../../../src/domain/sorted-json';

test('the canonical form is valid JSON of the same value and knows no order of fields', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(JSON.parse(sortedJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (fields) => {
      const reversed = Object.fromEntries(Object.entries(fields).toReversed());
      expect(sortedJson(reversed)).toBe(sortedJson(fields));
    }),
  );
});

test('what is no value differs from null', () => {
  expect([sortedJson(undefined), sortedJson(null)]).toEqual([undefined, 'null']);
});

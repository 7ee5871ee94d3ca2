/** Sealed tokens: only what was sealed comes out, and only for the list and the time it was sealed for. */
import { assert, constantFrom, integer, jsonValue, nat, oneof, property, record as shape, string } from 'fast-check';
import { createSealer, type Position } from '../../../src/domain/sealed-token';
import { pure } from '../../support/properties';

const sealer = createSealer('a secret of the deployment');
const NOW = Date.parse('2026-11-20T22:40:00.000Z');
const LIFETIME_MS = 7 * 24 * 60 * 60 * 1_000;

const position = shape(
  {
    value: oneof(string({ unit: 'binary' }), integer(), constantFrom(true, false, null)),
    id: string({ minLength: 1, unit: 'binary' }),
    isTied: constantFrom(true as const),
  },
  { requiredKeys: ['value', 'id'] },
);
const at = (milliseconds: number): Date => new Date(NOW + milliseconds);

test('what was sealed comes out until its time is over, for the same list', () => {
  assert(
    property(position, jsonValue(), integer({ min: 0, max: 2 * LIFETIME_MS }), (sealed, bound, age) => {
      const token = sealer.seal(sealed, bound, at(0));
      expect(token).toMatch(/^[A-Za-z0-9._-]+$/);
      expect(sealer.open(token, bound, at(age))).toEqual(age <= LIFETIME_MS ? sealed : null);
    }),
    pure(),
  );
});

test('another list and another deployment open nothing', () => {
  assert(
    property(position, jsonValue(), jsonValue(), (sealed, bound, other) => {
      const token = sealer.seal(sealed, bound, at(0));
      const isSame = JSON.stringify(bound) === JSON.stringify(other);
      expect(sealer.open(token, other, at(0))).toEqual(isSame ? sealed : null);
      expect(createSealer('another secret').open(token, bound, at(0))).toBeNull();
    }),
    pure(),
  );
});

test('any flipped bit, cut or added byte makes a token nothing', () => {
  const tampered = (token: string, place: number, bit: number): string => {
    const [keyId = '', text = ''] = token.split('.');
    const bytes = Buffer.from(text, 'base64url');
    const index = place % bytes.length;
    bytes[index] = (bytes[index] ?? 0) ^ (1 << bit);
    return `${keyId}.${bytes.toString('base64url')}`;
  };
  assert(
    property(position, nat(), nat({ max: 7 }), (sealed: Position, place, bit) => {
      const token = sealer.seal(sealed, 'list', at(0));
      expect(sealer.open(tampered(token, place, bit), 'list', at(0))).toBeNull();
      expect(sealer.open(token.slice(0, -4), 'list', at(0))).toBeNull();
      expect(sealer.open(`${token}AAAA`, 'list', at(0))).toBeNull();
    }),
    pure(),
  );
});

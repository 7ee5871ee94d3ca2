import { hashKey, KEY_KINDS, KEY_PREFIXES, lastFour, maskedKey, mintKey, parseKey } from '../../../src/domain/api-key';

describe('keys as text', () => {
  test.each(KEY_KINDS)('a minted %s key has its prefix, 36 characters and a valid checksum', (kind) => {
    const keys = new Set(Array.from({ length: 200 }, () => mintKey(kind)));
    expect(keys.size).toBe(200);
    for (const key of keys) {
      expect(key).toMatch(new RegExp(`^${KEY_PREFIXES[kind]}[0-9A-Za-z]{36}$`));
      expect(parseKey(key)).toBe(kind);
    }
  });

  test('every single wrong character is noticed without asking the store', () => {
    const key = mintKey('platform');
    for (let place = 'plat_'.length; place < key.length; place += 1) {
      const other = key.charAt(place) === 'A' ? 'B' : 'A';
      expect(parseKey(key.slice(0, place) + other + key.slice(place + 1))).toBeNull();
    }
  });

  test.each([
    '',
    'plat_',
    'plat_short',
    `plat_${'0'.repeat(36)}`,
    mintKey('mail').replace('mail_key_', 'plat_'),
    ` ${mintKey('platform')}`,
    `${mintKey('platform')}\n`,
    mintKey('platform').toUpperCase(),
    `${mintKey('platform')}0`,
  ])('%j is not a key', (text) => {
    expect(parseKey(text)).toBeNull();
  });

  test('all 62 characters come up about equally often', () => {
    const counts = new Map<string, number>();
    for (let count = 0; count < 2_000; count += 1) {
      for (const letter of mintKey('platform').slice('plat_'.length, -6))
        counts.set(letter, (counts.get(letter) ?? 0) + 1);
    }
    const expected = (2_000 * 30) / 62;
    expect(counts.size).toBe(62);
    for (const seen of counts.values()) expect(Math.abs(seen - expected)).toBeLessThan(expected * 0.25);
  });

  test('the stored hash depends on the pepper, and the preview shows four characters', () => {
    const key = mintKey('mail');
    expect(hashKey('a', key)).toBe(hashKey('a', key));
    expect(hashKey('a', key)).not.toBe(hashKey('b', key));
    expect(hashKey('a', key)).not.toContain(lastFour(key));
    expect(maskedKey('mail', lastFour(key))).toBe(`mail_key_••••${key.slice(-4)}`);
    expect(maskedKey('platform', 'x7Qa')).toBe('plat_••••x7Qa');
  });
});

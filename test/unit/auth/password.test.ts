import { hashPassword, verifyPassword } from '../../../src/domain/password';

describe('passwords', () => {
  test('only the right password matches its hash, which is different each time', async () => {
    const [first, second] = [await hashPassword('correct horse'), await hashPassword('correct horse')];
    expect(first).not.toBe(second);
    expect(await verifyPassword('correct horse', first)).toBe(true);
    expect(await verifyPassword('Correct horse', first)).toBe(false);
    expect(await verifyPassword('', first)).toBe(false);
  });

  test('without a stored hash nothing matches, and the same work is done', async () => {
    const stored = await hashPassword('x');
    const time = async (hash: string | null) => {
      const samples: number[] = [];
      for (let count = 0; count < 9; count += 1) {
        const startedAt = performance.now();
        expect(await verifyPassword('y', hash)).toBe(false);
        samples.push(performance.now() - startedAt);
      }
      return samples.sort((a, b) => a - b)[1] ?? 0;
    };
    const [known, unknown] = [await time(stored), await time(null)];
    // Loose bounds: a skipped computation would be a hundred times faster.
    expect(unknown / known).toBeGreaterThan(0.2);
    expect(unknown / known).toBeLessThan(5);
  });

  test('the same password typed on another keyboard matches', async () => {
    expect(await verifyPassword('e\u0301te\u0301', await hashPassword('\u00e9t\u00e9'))).toBe(true);
  });

  test('a damaged hash matches nothing', async () => {
    for (const stored of ['', 'scrypt$1', 'plain$1$1$1$a$b']) expect(await verifyPassword('x', stored)).toBe(false);
  });
});

import { checkerOf } from '../../../src/providers/ai-schema';

const withPattern = (pattern: string) =>
  checkerOf({ type: 'object', properties: { code: { type: 'string', pattern } }, required: ['code'] });

function timed<Done>(work: () => Done): { done: Done; ms: number } {
  const startedAt = performance.now();
  return { done: work(), ms: performance.now() - startedAt };
}

test('patterns hold, and each is its own', () => {
  const check = checkerOf({ type: 'object', properties: { a: { pattern: '^\\d+$' }, b: { pattern: '^[a-z]+$' } } });
  expect(check({ a: '12', b: 'xy' })).toMatchObject({ ok: true });
  expect(check({ a: 'xy', b: '12' })).toMatchObject({
    ok: false,
    problems: expect.stringMatching(/\/a .*\/b /) as string,
  });
});

test('a pattern that backtracking would never be done with is answered at once', () => {
  const check = withPattern('^(a+)+$');
  const { done, ms } = timed(() => check({ code: `${'a'.repeat(200)}!` }));
  expect(done).toMatchObject({ ok: false });
  expect(check({ code: 'aaa' })).toMatchObject({ ok: true });
  expect(ms).toBeLessThan(500);
});

test('what ours cannot read, in schemas that were stored before, is ended when it takes too long', () => {
  const check = withPattern('^(?=a)(a+)+$');
  expect(check({ code: 'aaa' })).toMatchObject({ ok: true });
  expect(() => check({ code: `${'a'.repeat(200)}!` })).toThrow('too long');
});

/** Each level is looked at twice as often as the one above it. */
const twice = (levels: number): Record<string, unknown> => ({
  type: 'object',
  $ref: '#/$defs/d0',
  $defs: {
    ...Object.fromEntries(
      Array.from({ length: levels }, (_, at) => {
        const $ref = `#/$defs/d${at + 1}`;
        return [`d${at}`, { allOf: [{ $ref }, { $ref }] }];
      }),
    ),
    [`d${levels}`]: { type: 'object' },
  },
});

test('a schema whose work doubles from level to level is ended', () => {
  expect(checkerOf(twice(3))({})).toMatchObject({ ok: true });
  const { done, ms } = timed(() => {
    try {
      return checkerOf(twice(60))({});
    } catch (error) {
      return error;
    }
  });
  expect(done).toMatchObject({ kind: 'invalid_input', message: expect.stringContaining('too long') as string });
  expect(ms).toBeLessThan(5_000);
});

import { openPage } from '../../../src/domain/list-page';
import { createSealer } from '../../../src/domain/sealed-token';

const WEEK_MS = 7 * 86_400_000;
const NOW = new Date('2026-03-01T12:00:00.000Z');
const sealer = createSealer('a secret of this test');
const at = (now: Date) => ({ sealer, clock: { now: () => now } });
const BOUND = ['things', 'org_one'];

const positionOf = (row: string) => ({ value: row, id: row });

test('a page leads to the next one, and the last page to none', () => {
  const first = openPage(at(NOW), { limit: 2 }, BOUND);
  expect(first).toMatchObject({ after: null, limit: 2, readMax: 3 });
  const { rows, continuationToken, ...rest } = first.cut(['a', 'b', 'c'], positionOf);
  expect([rows, rest]).toEqual([['a', 'b'], { hasMore: true, limit: 2 }]);

  const second = openPage(at(NOW), { limit: 2, continuationToken: continuationToken ?? '' }, BOUND);
  expect(second.after).toEqual({ value: 'b', id: 'b' });
  expect(second.cut(['c'], positionOf)).toEqual({ rows: ['c'], continuationToken: null, hasMore: false, limit: 2 });
});

test('a page of exactly as many rows as there are is the last', () => {
  expect(openPage(at(NOW), { limit: 2 }, BOUND).cut(['a', 'b'], positionOf).hasMore).toBe(false);
});

test('a token that does not open here is refused, in the words of the list', () => {
  const continuationToken = openPage(at(NOW), {}, BOUND).seal({ value: 1, id: 'a' });
  const other = () => openPage(at(NOW), { continuationToken }, ['things', 'org_two']);
  expect(other).toThrow(expect.objectContaining({ code: 'invalid_cursor' }) as Error);
  const old = { continuationToken, refusal: 'Begin again.' };
  const late = at(new Date(NOW.getTime() + WEEK_MS + 1));
  expect(() => openPage(late, old, BOUND)).toThrow('Begin again.');
  expect(openPage(late, { continuationToken, lifetimeMs: 2 * WEEK_MS }, BOUND).after).toEqual({ value: 1, id: 'a' });
  expect(() => openPage(at(NOW), { continuationToken: '' }, BOUND)).toThrow('The continuation token does not belong');
});

test('a token says whether its whole page and the row behind it have the same sort value', () => {
  const byColour = ([colour, id]: [string | null, string]) => ({ value: colour, id });
  const rows: [string | null, string][] = [
    ['red', 'a'],
    ['red', 'b'],
    ['red', 'c'],
    ['blue', 'd'],
    ['blue', 'e'],
  ];
  const ties = [1, 2, 3, 4].map((limit) => {
    const { continuationToken } = openPage(at(NOW), { limit }, BOUND).cut(rows.slice(0, limit + 1), byColour);
    return openPage(at(NOW), { limit, continuationToken: continuationToken ?? '' }, BOUND).after?.isTied ?? false;
  });
  expect(ties).toEqual([true, true, false, false]);
});

import { madePer, memoised } from '../../../src/domain/memoised';

test('a result is made once for an argument, and anew when too many are kept', () => {
  const make = jest.fn((key: string) => key.toUpperCase());
  const find = memoised(2, make);
  expect([find('a'), find('a'), find('b'), find('c'), find('a')]).toEqual(['A', 'A', 'B', 'C', 'A']);
  expect(make.mock.calls).toEqual([['a'], ['b'], ['c'], ['a']]);
});

test('each owner has one of its own', () => {
  const listOf = madePer((_owner: object): string[] => []);
  const [one, other] = [{}, {}];
  listOf(one).push('mine');
  expect([listOf(one), listOf(other)]).toEqual([['mine'], []]);
});

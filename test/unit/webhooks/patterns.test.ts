import { matchesPattern, patternsToRegex } from '../../../src/domain/webhooks/patterns';

test.each([
  [['psa:ticket.created'], 'psa:ticket.created', 'psa:ticketXcreated'],
  [['psa:ticket.*', 'crm:deal.won'], 'psa:ticket.closed', 'crm:deal.lost'],
  [['*'], 'psa:ticket.created', ''],
  // Characters that mean something in an expression, or that the store takes in none.
  [['a+(b)|c'], 'a+(b)|c', 'c'],
  [['a\0b', '😀*'], 'a\0b', 'ab'],
  [['a\0b', '😀*'], '😀 more', '😁'],
])('%j as one expression asks for the same as one by one', (patterns, wanted, other) => {
  const expression = patternsToRegex(patterns);
  expect(expression.test(wanted)).toBe(true);
  expect(patterns.some((pattern) => matchesPattern(pattern, wanted))).toBe(true);
  if (other) expect(expression.test(other)).toBe(false);
  expect(expression.source).not.toContain('\0');
});

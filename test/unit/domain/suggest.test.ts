import { nearest } from '../../../src/domain/suggest';

const fields = [
  'title',
  'description',
  'priority',
  'client_id',
  'ticket_number',
  'event_payload.title',
  'event_payload.client_id',
  'due_at',
];

test.each([
  ['titel', 'title'],
  ['tittle', 'title'],
  ['prioirty', 'priority'],
  ['Priority', 'priority'],
  ['clientId', 'client_id'],
  ['client-id', 'client_id'],
  ['ticketnumber', 'ticket_number'],
  ['event_payload.titel', 'event_payload.title'],
  ['event_payload.clientid', 'event_payload.client_id'],
  ['desc', 'description'],
  ['payload.title', 'title'],
  ['due', 'due_at'],
])('for %s, %s is suggested', (word, expected) => {
  expect(nearest(word, fields)).toBe(expected);
});

test.each(['', '-', 'x', 'colour', 'assignee', 'e', 'zzzzzzzz', 'a'.repeat(5_000)])(
  'for %p nothing is suggested',
  (word) => {
    expect(nearest(word, fields)).toBeUndefined();
  },
);

test('the end of a path is recognised behind another root', () => {
  expect(nearest('title', ['event_payload.title', 'event.id'])).toBe('event_payload.title');
});

test('of several near names the nearest wins, then the first', () => {
  expect(nearest('colour', ['colours', 'color', 'colou'])).toBe('colours');
  expect(nearest('statsu', ['stats', 'status'])).toBe('stats');
});

test('without candidates nothing is suggested', () => {
  expect(nearest('title', [])).toBeUndefined();
});

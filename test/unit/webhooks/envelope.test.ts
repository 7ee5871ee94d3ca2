/** An endpoint keeps the shape it was made for, whatever later versions break: an invented pair of breaks. */
import type { ApiVersion, EventContent } from '../../../src/contracts/version';
import { bodyOf, type LoggedEvent } from '../../../src/domain/webhooks/envelope';

const FIRST = '2026-11-20';
const SECOND = '2027-03-01';
const THIRD = '2027-09-01';

const renamed = (fields: Record<string, unknown>, from: string, to: string): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name === from ? to : name, value]));

/** What a version that gave a field another name tells clients of the version before. */
const calledBefore =
  (now: string, before: string) =>
  ({ data, changes }: EventContent): EventContent => ({
    data: renamed(data, now, before),
    ...(changes ? { changes: renamed(changes, now, before) } : {}),
  });

/** `title` was `subject` before the second version, and `name` was `title` before the third. */
const VERSIONS: readonly ApiVersion[] = [
  { date: FIRST, summary: 'The first.', changes: {} },
  {
    date: THIRD,
    summary: 'Tickets have names.',
    changes: {},
    events: { 'psa:ticket': calledBefore('name', 'title') },
  },
  {
    date: SECOND,
    summary: 'Tickets have titles.',
    changes: {},
    events: { 'psa:ticket': calledBefore('title', 'subject') },
  },
];

const EVENT: LoggedEvent = {
  org_id: 'org_1',
  event_id: 'evt_1',
  event_type: 'ticket.updated',
  source_product: 'psa',
  occurred_at: '2027-10-01T08:00:00.000Z',
  payload: { name: 'Printer offline', priority: 'high', changed: ['name'], previous: { name: 'Printer' } },
  sequence: 2,
  subject: 'tickets/tkt_1',
};

type Shape = Parameters<typeof bodyOf>[1];

const sent = (event: LoggedEvent, shape: Partial<Shape>): Record<string, unknown> => {
  const settings: Shape = { payload: 'full', format: 'standard', apiVersion: THIRD, ...shape };
  return JSON.parse(bodyOf(event, settings, VERSIONS).body) as Record<string, unknown>;
};

test.each([
  [THIRD, 'name'],
  [SECOND, 'title'],
  [FIRST, 'subject'],
])('an endpoint of %s is told of the %s', (apiVersion, field) => {
  const told = { id: 'tkt_1', version: 2, [field]: 'Printer offline', priority: 'high' };
  const changes = { [field]: { from: 'Printer', to: 'Printer offline' } };
  expect(sent(EVENT, { apiVersion })).toMatchObject({ apiVersion, data: told, changes });
  expect(Object.keys(sent(EVENT, { apiVersion })['data'] as object).toSorted()).toEqual(Object.keys(told).toSorted());
  expect(sent(EVENT, { apiVersion, format: 'cloudevents' })['data']).toEqual({ ...told, changes });
});

test('events of other resources, thin ones and those from outside are the same in every version', () => {
  const others: [LoggedEvent, Partial<Shape>][] = [
    [{ ...EVENT, source_product: 'crm' }, {}],
    [{ ...EVENT, event_type: 'board.updated' }, {}],
    [EVENT, { payload: 'thin' }],
    [{ ...EVENT, subject: null, sequence: null }, {}],
  ];
  for (const [event, shape] of others)
    expect(sent(event, { ...shape, apiVersion: FIRST })['data']).toEqual(sent(event, shape)['data']);
});

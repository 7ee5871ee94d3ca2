/** The catalog entries that follow from the registry. */
import { eventCatalog } from '../../../src/catalog/events';
import { resourceEvents } from '../../../src/resources/events';

const entry = (id: string) => resourceEvents.find((candidate) => candidate.id === id);

test('every event of the registry has one entry, under the product that emits it', () => {
  const ids = resourceEvents.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toEqual(
    expect.arrayContaining([
      'psa:ticket.created',
      'psa:ticket.updated',
      'psa:ticket.status_changed',
      'psa:ticket.assigned',
      'psa:ticket.escalated',
      'psa:ticket.resolved',
      'psa:ticket.closed',
      'psa:ticket.sla_warning',
      'psa:ticket.sla_breached',
      'psa:ticket.deleted',
      'psa:catalog_item.updated',
      'crm:contact.created',
      'crm:company.status_changed',
    ]),
  );
});

test.each(resourceEvents.map((event) => [event.id, event] as const))(
  '%s: what can be filtered by is in the sample',
  (_id, event) => {
    expect(Object.keys(event.sample_payload)).toEqual(
      expect.arrayContaining(event.filterable_fields.map(({ path }) => path)),
    );
    for (const { path, type, enum_values: values } of event.filterable_fields) {
      const sample = event.sample_payload[path];
      if (type === 'enum' && sample !== null)
        expect({ path, values }).toEqual({ path, values: expect.arrayContaining([sample]) as unknown });
      if (type === 'array') expect({ path, isArray: Array.isArray(sample) }).toEqual({ path, isArray: true });
      if (type === 'integer' && sample !== null)
        expect({ path, type: typeof sample }).toEqual({ path, type: 'number' });
    }
  },
);

test.each(resourceEvents.map((event) => [event.id, event] as const))(
  '%s: the catalog offers everything it carries, whoever described it',
  (_id, { source_product: product, event_type: type, filterable_fields: carried, sample_payload: sample }) => {
    const shown = eventCatalog.find(product, type);
    expect(shown?.filterable_fields.map(({ path }) => path)).toEqual(
      expect.arrayContaining(carried.map(({ path }) => path)),
    );
    expect(Object.keys(shown?.sample_payload ?? {})).toEqual(expect.arrayContaining(Object.keys(sample)));
  },
);

test('an escalation shows from where to where and why', () => {
  expect(entry('psa:ticket.escalated')).toMatchObject({
    category: 'service_desk',
    display_name: 'Ticket escalated',
    sample_payload: {
      ticket_number: 'T-1001',
      board: 'Service desk',
      priority: 'critical',
      from_level: 0,
      to_level: 1,
      reason: 'priority_raised',
      changed: ['priority', 'status', 'escalation_level'],
      previous: { priority: 'high', status: 'new', escalation_level: 0 },
    },
  });
});

test('long texts and objects are carried but not offered as filters', () => {
  const created = entry('psa:ticket.created');
  const paths = created?.filterable_fields.map(({ path }) => path);
  expect(Object.keys(created?.sample_payload ?? {})).toEqual(expect.arrayContaining(['description', 'actor']));
  expect(paths).not.toEqual(expect.arrayContaining(['description']));
  expect(paths).not.toEqual(expect.arrayContaining(['actor']));
});

test('the catalog says which events, and which fields of ours, come from systems outside alone', () => {
  const ours = new Map(resourceEvents.map((event) => [event.id, event]));
  const isForeign = ({ description }: (typeof resourceEvents)[number]) => description.includes('from systems outside');
  const foreign = eventCatalog.all.filter(isForeign).map(({ id }) => id);
  // What the platform reports of its own work is ours, although no record's change makes it.
  const ownWork = ['agents:credits.threshold', 'console:webhook.disabled'];
  const made = eventCatalog.all.map(({ id }) => id).filter((id) => ours.has(id) || ownWork.includes(id));
  expect([...foreign, ...made].toSorted()).toEqual(eventCatalog.all.map(({ id }) => id).toSorted());
  expect(foreign).toEqual(expect.arrayContaining(['rmm:alert.triggered', 'psa:survey.negative']));
  for (const { id, filterable_fields: fields } of eventCatalog.all) {
    const carried = ours.get(id)?.sample_payload;
    const added = fields.filter(({ path }) => carried && !Object.hasOwn(carried, path)).map(({ path }) => path);
    const marked = fields.filter(({ label }) => label.endsWith(' (from outside)')).map(({ path }) => path);
    expect({ id, marked }).toEqual({ id, marked: added });
  }
});

test('why a payment failed is whatever was reported', () => {
  const entry = eventCatalog.find('books', 'payment.failed');
  expect(entry?.filterable_fields).toContainEqual({ path: 'reason', label: 'Reason', type: 'string' });
});

test('a sample names its ticket by one number', () => {
  const named = eventCatalog.all.flatMap(({ id, sample_payload: sample }) => {
    const { number, ticket_number: name } = sample;
    return typeof number !== 'number' || name === undefined ? [] : [[id, name === `T-${number}`]];
  });
  expect(named).toContainEqual(['psa:ticket.created', true]);
  expect(named.filter(([, agrees]) => !agrees)).toEqual([]);
});

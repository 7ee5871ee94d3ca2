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

/** Bus events: what products emit, the catalog that describes them and the record of what each one started. */
import { EVENT_ID_PATTERN, EVENT_TYPE_LENGTH_MAX, EVENT_TYPE_PATTERN, PRODUCT_PATTERN } from './patterns';
import { Enum, Json, Nullable, Timestamp, Type, Anything, Closed, type Static } from './schema';

export const EVENT_CATEGORIES = [
  'service_desk',
  'security',
  'operations',
  'finance',
  'compliance',
  'communications',
  'onboarding',
  'client_success',
] as const;

export const FIELD_TYPES = [
  'string',
  'number',
  'integer',
  'boolean',
  'enum',
  'datetime',
  'id',
  'array',
  'money',
] as const;
export type FieldType = (typeof FIELD_TYPES)[number];

export const FilterableField = Type.Object({
  path: Type.String(),
  label: Type.String(),
  type: Enum(FIELD_TYPES),
  enum_values: Type.Optional(Type.Array(Type.String())),
});
export type FilterableField = Static<typeof FilterableField>;

export const EventCatalogEntry = Type.Object(
  {
    id: Type.String({ description: '`<source_product>:<event_type>`' }),
    source_product: Type.String(),
    event_type: Type.String(),
    category: Enum(EVENT_CATEGORIES),
    display_name: Type.String(),
    description: Type.String(),
    filterable_fields: Type.Array(FilterableField),
    sample_payload: Json(),
  },
  { $id: 'EventCatalogEntry' },
);
export type EventCatalogEntry = Static<typeof EventCatalogEntry>;

/** An event on the bus, as products write it into their outbox and agents match it. */
export interface BusEvent {
  id: string;
  org_id: string;
  event_type: string;
  source_product: string;
  occurred_at: string;
  client_id: string | null;
  payload: Record<string, unknown>;
  /** Version of the resource it is about; absent for events from outside. */
  sequence?: number;
  /** The resource it is about, such as `tickets/tkt_…`. */
  subject?: string;
}

const eventType = Type.String({ pattern: EVENT_TYPE_PATTERN, maxLength: EVENT_TYPE_LENGTH_MAX });
const product = Type.String({ pattern: PRODUCT_PATTERN });
const eventId = Type.String({ pattern: EVENT_ID_PATTERN });

/** Either our own shape or CloudEvents 1.0 JSON (told apart by `specversion`). */
export const EventInput = Type.Unsafe<NativeEvent | CloudEvent>({
  $id: 'EventInput',
  type: 'object',
  oneOf: [{ $ref: 'NativeEvent' }, { $ref: 'CloudEvent' }],
});
export const NativeEvent = Closed(
  {
    id: Type.Optional(eventId),
    event_type: eventType,
    source_product: product,
    occurred_at: Type.Optional(Timestamp()),
    client_id: Type.Optional(Nullable(Type.String({ maxLength: 64 }))),
    payload: Json(),
  },
  { $id: 'NativeEvent' },
);
export type NativeEvent = Static<typeof NativeEvent>;
export const CloudEvent = Type.Object(
  {
    specversion: Type.Literal('1.0'),
    id: eventId,
    type: Type.String({
      minLength: 3,
      maxLength: 160,
      description: '`<product>.<event type>`, or the event type with the product in `source`',
    }),
    source: Type.String({ minLength: 1, maxLength: 200 }),
    time: Type.Optional(Timestamp()),
    subject: Type.Optional(Type.String({ maxLength: 200 })),
    datacontenttype: Type.Optional(Type.String()),
    clientid: Type.Optional(Type.String({ maxLength: 64 })),
    data: Json(),
  },
  { $id: 'CloudEvent' },
);
export type CloudEvent = Static<typeof CloudEvent>;

export const OUTCOMES = [
  'started',
  'filtered',
  'condition_false',
  'paused',
  'draft',
  'out_of_scope',
  'suppressed',
  'invalid_definition',
] as const;

/** Why one agent did, or did not, run for an event. */
export const EventOutcome = Type.Object({
  agent_id: Type.String(),
  agent_name: Type.String(),
  outcome: Enum(OUTCOMES),
  reason: Type.String(),
  failing_rule: Type.Optional(
    Anything({ description: 'The filter or condition that did not hold; its beginning as text where it is long' }),
  ),
  actual: Type.Optional(Anything({ description: 'The value the rule saw; its beginning as text where it is long' })),
  execution_id: Type.Optional(Type.String()),
});
export type EventOutcome = Static<typeof EventOutcome>;

export const EventLogEntry = Type.Object(
  {
    id: Type.String(),
    event_type: Type.String(),
    source_product: Type.String(),
    occurred_at: Timestamp(),
    received_at: Timestamp(),
    client_id: Nullable(Type.String()),
    payload: Json(),
    outcomes: Type.Array(EventOutcome),
  },
  { $id: 'EventLogEntry' },
);

export const IngestResult = Type.Object(
  {
    event_id: Type.String(),
    duplicate: Type.Boolean(),
    matched: Type.Integer(),
    executions: Type.Array(Type.Object({ id: Type.String(), agent_id: Type.String() })),
  },
  { $id: 'IngestResult' },
);

/** Webhooks as the console shows and takes them: endpoints, the deliveries made to them and the log of events. */
import { FieldPath, OPERATORS } from './condition';
import { Anything, Closed, Enum, Id, Json, Nullable, Timestamp, Type, type Static } from './schema';
import { VERSION_DATES } from './version';

export const WEBHOOK_STATUSES = ['active', 'disabled'] as const;
/** `failing`: no success for days; `gone`: the receiver answered 410; `by_user`: somebody asked for it. */
export const DISABLED_REASONS = ['failing', 'gone', 'by_user'] as const;
export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'skipped'] as const;

export const EVENT_TYPES_MAX = 50;
const FILTERS_MAX = 10;
const RATE_MAX = 6_000;
const OVERLAP_SECONDS_MAX = 604_800;

const Url = () =>
  Type.String({
    minLength: 8,
    maxLength: 2_000,
    description: 'https on port 443 or 8443; http and any port on loopback where the operator allows it',
  });
const Pattern = () =>
  Type.String({
    minLength: 1,
    maxLength: 170,
    description: 'An event type such as `psa:ticket.escalated`, a group such as `psa:ticket.*` or `psa:*`, or `*`',
  });

/** One comparison on the event's payload, by the field names of the event catalog. All must hold. */
const WebhookFilter = Closed(
  {
    field: FieldPath,
    operator: Enum(OPERATORS),
    value: Type.Optional(Anything({ description: 'What to compare with; its shape follows the operator' })),
    caseSensitive: Type.Optional(Type.Boolean()),
  },
  { $id: 'WebhookFilter' },
);
export type WebhookFilter = Static<typeof WebhookFilter>;

const settings = {
  url: Url(),
  description: Type.String({ maxLength: 500 }),
  eventTypes: Type.Array(Pattern(), { minItems: 1, maxItems: EVENT_TYPES_MAX, uniqueItems: true }),
  filters: Type.Array(WebhookFilter, { maxItems: FILTERS_MAX }),
  payload: Enum(['full', 'thin'], { description: '`thin` sends the id of the resource instead of its fields' }),
  format: Enum(['standard', 'cloudevents']),
  ordered: Type.Boolean({ description: 'One delivery per resource at a time; later ones wait' }),
  ratePerMinute: Nullable(Type.Integer({ minimum: 1, maximum: RATE_MAX, description: '`null` sends at once' })),
  apiVersion: Enum(VERSION_DATES, { description: 'The shape of the body' }),
};

export const CreateWebhook = Closed(
  {
    url: settings.url,
    eventTypes: settings.eventTypes,
    description: Type.Optional(settings.description),
    filters: Type.Optional(settings.filters),
    payload: Type.Optional(settings.payload),
    format: Type.Optional(settings.format),
    ordered: Type.Optional(settings.ordered),
    ratePerMinute: Type.Optional(settings.ratePerMinute),
    apiVersion: Type.Optional(settings.apiVersion),
  },
  { $id: 'CreateWebhook' },
);
export type CreateWebhook = Static<typeof CreateWebhook>;

export const UpdateWebhook = Closed(
  { ...CreateWebhook.properties, url: Type.Optional(settings.url), eventTypes: Type.Optional(settings.eventTypes) },
  { $id: 'UpdateWebhook', minProperties: 1 },
);
export type UpdateWebhook = Static<typeof UpdateWebhook>;

/** What an owner decides about an endpoint. */
export const WebhookSettings = Type.Object(settings);
export type WebhookSettings = Static<typeof WebhookSettings>;

export const Webhook = Type.Object(
  {
    id: Id(),
    ...settings,
    status: Enum(WEBHOOK_STATUSES),
    disabledReason: Nullable(Enum(DISABLED_REASONS)),
    disabledAt: Nullable(Timestamp()),
    failingSince: Nullable(Timestamp({ description: 'When the first failure without a success since then was' })),
    secrets: Type.Array(
      Type.Object({
        createdAt: Timestamp(),
        endsAt: Nullable(Timestamp({ description: '`null` for the current one' })),
      }),
      { description: 'The secrets that sign deliveries now, newest first' },
    ),
    stats24h: Type.Object(
      {
        ok: Type.Integer(),
        failed: Type.Integer(),
        p95Ms: Nullable(Type.Integer({ description: 'Of the latest attempt at each delivery' })),
      },
      { description: 'Deliveries attempted in the last 24 hours by how the latest attempt went; of the 10,000 latest' },
    ),
    createdAt: Timestamp(),
    createdBy: Type.String(),
    updatedAt: Timestamp(),
    version: Type.Integer(),
  },
  { $id: 'Webhook' },
);
export type Webhook = Static<typeof Webhook>;

/** The answer to creation and rotation: the only time the secret itself is shown. */
export const IssuedWebhook = Type.Object(
  {
    ...Webhook.properties,
    secret: Nullable(Type.String({ description: '`whsec_…`, shown once. `null` when the request is repeated' })),
    secretShown: Type.Optional(Type.Boolean({ description: '`true` when an earlier answer has shown the secret' })),
  },
  { $id: 'IssuedWebhook' },
);

export const RotateWebhookSecret = Closed(
  {
    overlapSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: OVERLAP_SECONDS_MAX,
        description: 'How long the old secret signs beside the new one; a day unless named',
      }),
    ),
  },
  { $id: 'RotateWebhookSecret' },
);

export const EventTypeEntry = Type.Object(
  {
    id: Type.String({ description: '`<sourceProduct>:<type>`, as endpoints name it' }),
    sourceProduct: Type.String(),
    type: Type.String(),
    displayName: Type.String(),
    description: Type.String(),
    filterableFields: Type.Array(
      Type.Object({
        path: Type.String(),
        label: Type.String(),
        type: Type.String(),
        enumValues: Type.Optional(Type.Array(Type.String())),
      }),
    ),
    startsAgents: Type.Boolean({ description: 'False for what agents themselves report: it reaches webhooks only' }),
  },
  { $id: 'EventTypeEntry' },
);

/** One try to reach a receiver. */
export const DeliveryAttempt = Type.Object(
  {
    at: Timestamp(),
    statusCode: Nullable(Type.Integer({ description: '`null` when no answer came' })),
    ms: Type.Integer(),
    error: Nullable(Type.String({ description: 'Why it does not count as delivered' })),
    response: Nullable(Type.String({ description: 'The first 512 bytes of the answer' })),
  },
  { $id: 'DeliveryAttempt' },
);
export type DeliveryAttempt = Static<typeof DeliveryAttempt>;

export const WebhookDelivery = Type.Object(
  {
    id: Id(),
    webhookId: Id(),
    eventId: Type.String({ description: 'The `webhook-id` header: the same in every attempt' }),
    eventType: Type.String(),
    resourceId: Nullable(Type.String()),
    sequence: Nullable(Type.Integer()),
    status: Enum(DELIVERY_STATUSES),
    reason: Nullable(Type.String({ description: 'Why it is skipped, has failed or waits' })),
    attempts: Type.Array(DeliveryAttempt, { description: 'The 20 latest, oldest first' }),
    nextAttemptAt: Nullable(Timestamp()),
    createdAt: Timestamp(),
    deliveredAt: Nullable(Timestamp()),
  },
  { $id: 'WebhookDelivery' },
);
export type WebhookDelivery = Static<typeof WebhookDelivery>;

export const TestWebhook = Closed({ eventType: Type.Optional(Pattern()) }, { $id: 'TestWebhook' });
export const TestedWebhook = Type.Object(
  { eventId: Type.String(), eventType: Type.String(), delivered: Type.Boolean(), attempt: DeliveryAttempt },
  { $id: 'TestedWebhook' },
);

export const ReplayWebhook = Closed(
  {
    from: Timestamp(),
    to: Timestamp(),
    status: Type.Optional(Type.Array(Enum(['failed', 'skipped']), { minItems: 1, uniqueItems: true })),
    eventTypes: Type.Optional(Type.Array(Pattern(), { minItems: 1, maxItems: EVENT_TYPES_MAX, uniqueItems: true })),
  },
  { $id: 'ReplayWebhook' },
);
export const WebhookReplay = Type.Object({ replayId: Id(), matched: Type.Integer() }, { $id: 'WebhookReplay' });

export const FeedEvent = Type.Object(
  {
    id: Type.String(),
    type: Type.String(),
    sourceProduct: Type.String(),
    timestamp: Timestamp(),
    tenantId: Type.String(),
    sequence: Nullable(Type.Integer()),
    data: Json(),
    changes: Type.Optional(Json()),
  },
  { $id: 'FeedEvent' },
);

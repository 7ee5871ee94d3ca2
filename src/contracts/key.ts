/** API keys as the console shows and takes them: one shape for platform and mail keys. */
import { MAIL_SCOPES, PRODUCT_SCOPES, TIERS } from './principal';
import { NOT_BLANK_PATTERN } from './patterns';
import { VERSION_DATES } from './version';
import { Closed, Enum, Id, Nullable, NullableTimestampOrDay, Timestamp, Type, type Static } from './schema';

/** What a key opens: product APIs and the agent service, or the mail service. */
export const KeyKinds = Enum(['platform', 'mail']);
export const KEY_STATUSES = ['active', 'expired', 'revoked'] as const;
export type KeyStatus = (typeof KEY_STATUSES)[number];

export const KEY_NAME_MAX = 120;
const OVERLAP_SECONDS_MAX = 604_800;

const Name = () => Type.String({ minLength: 1, maxLength: KEY_NAME_MAX, pattern: NOT_BLANK_PATTERN });
const Expiry = () =>
  Type.Optional(
    NullableTimestampOrDay({
      description:
        'When the key stops working: a timestamp, or a date (`YYYY-MM-DD`), which means 00:00:00 UTC of that day. In the future; `null` or absent means never. Answered as a timestamp.',
    }),
  );

export const ApiKey = Type.Object(
  {
    id: Id(),
    kind: KeyKinds,
    name: Type.String(),
    maskedKey: Type.String({ description: 'The only preview of the key after its creation' }),
    last4: Type.String(),
    scopes: Type.Array(Type.String()),
    status: Enum(KEY_STATUSES),
    tier: Enum(TIERS),
    expiresAt: Nullable(Timestamp()),
    lastUsedAt: Nullable(Timestamp({ description: 'The last request with the key, also one that was refused' })),
    totalRequests: Type.Integer({
      description: 'Since its creation, those included that were refused after it had expired or was revoked',
    }),
    requests30d: Type.Integer(),
    errorRate: Nullable(
      Type.Number({ description: 'Percentage of 4xx and 5xx over 30 days; `null` without requests' }),
    ),
    createdAt: Timestamp(),
    createdBy: Type.String(),
    revokedAt: Nullable(Timestamp()),
    revokedBy: Nullable(Type.String()),
    rotatedFrom: Nullable(Id()),
    apiVersion: Type.String({ description: 'What requests with the key get that send no `Platform-Version`' }),
    version: Type.Integer(),
  },
  { $id: 'ApiKey' },
);
export type ApiKey = Static<typeof ApiKey>;

/** The answer to creation and rotation: the only time the key itself is shown. */
export const IssuedApiKey = Type.Object(
  {
    ...ApiKey.properties,
    key: Nullable(Type.String({ description: 'Shown once; store it now. `null` when the request is repeated' })),
    keyShown: Type.Optional(Type.Boolean({ description: '`true` when an earlier answer has shown the key' })),
  },
  { $id: 'IssuedApiKey' },
);

/** `then` is a keyword of JSON Schema here, not a method. */
// oxlint-disable-next-line unicorn/no-thenable
const when = (condition: object, consequence: object) => ({ if: condition, then: consequence });
const scopeList = (values: readonly string[], options: object = {}) => ({
  properties: { scopes: { items: { enum: [...values] }, ...options } },
});
const kindIs = (kind: string) => ({ properties: { kind: { const: kind } }, required: ['kind'] });

/** A platform key may have no scopes, which means no access; a mail key needs at least one. */
export const CreateApiKey = Closed(
  {
    kind: KeyKinds,
    name: Name(),
    scopes: Type.Array(Type.String(), { uniqueItems: true, maxItems: 20 }),
    expiresAt: Expiry(),
  },
  {
    $id: 'CreateApiKey',
    allOf: [
      when(kindIs('mail'), scopeList(MAIL_SCOPES, { minItems: 1 })),
      when(kindIs('platform'), scopeList(PRODUCT_SCOPES)),
    ],
  },
);
export type CreateApiKey = Static<typeof CreateApiKey>;

export const UpdateApiKey = Closed(
  {
    name: Type.Optional(Name()),
    scopes: Type.Optional(Type.Array(Enum([...PRODUCT_SCOPES, ...MAIL_SCOPES]), { uniqueItems: true, maxItems: 20 })),
    expiresAt: Expiry(),
    apiVersion: Type.Optional(Enum(VERSION_DATES, { description: 'A later version, or an earlier one again' })),
  },
  { $id: 'UpdateApiKey', minProperties: 1 },
);
export type UpdateApiKey = Static<typeof UpdateApiKey>;

export const RotateApiKey = Closed(
  {
    overlapSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: OVERLAP_SECONDS_MAX,
        description: 'How long the old key goes on working; a day unless named',
      }),
    ),
  },
  { $id: 'RotateApiKey' },
);

export const KeyUsageQuery = Closed({
  from: Type.Optional(
    Timestamp({ description: 'Begin of the first bucket; a day ago by the hour, 30 days ago by the day' }),
  ),
  to: Type.Optional(Timestamp({ description: 'Not included; now unless named' })),
  interval: Type.Optional(Enum(['hour', 'day'], { description: '`hour` unless named; days are those of UTC' })),
});
export type KeyUsageQuery = Static<typeof KeyUsageQuery>;

const Tally = (description: string) =>
  Type.Unsafe<Record<string, number>>({ type: 'object', additionalProperties: { type: 'integer' }, description });

/** Every bucket of the span is there, those without requests with zeros. */
export const KeyUsage = Type.Object(
  {
    from: Timestamp(),
    to: Timestamp(),
    interval: Enum(['hour', 'day']),
    items: Type.Array(
      Type.Object({
        at: Timestamp({ description: 'Begin of the bucket' }),
        requests: Type.Integer(),
        errors: Type.Integer({ description: 'Answers with 4xx and 5xx' }),
        rateLimited: Type.Integer({ description: 'Those of them with 429' }),
        p95Ms: Nullable(
          Type.Integer({
            description: '95 of 100 answers took at most this long, to the next step of a fixed scale; 429 not counted',
          }),
        ),
      }),
    ),
    byProduct: Tally('Requests by API'),
    byStatus: Tally('Requests by HTTP status'),
    topPaths: Type.Array(
      Type.Object({
        method: Type.String(),
        path: Type.String({ description: 'As in the documentation, with `:id` in place of ids' }),
        requests: Type.Integer(),
        errors: Type.Integer(),
      }),
      { description: 'The ten most used' },
    ),
  },
  { $id: 'KeyUsage' },
);

export const DeprecatedOperation = Type.Object(
  {
    operation: Type.String({ description: 'Id of the operation' }),
    method: Type.String(),
    path: Type.String(),
    since: Type.String({ format: 'date' }),
    sunset: Type.String({ format: 'date', description: 'The first day on which it may be gone' }),
    successor: Nullable(Type.String({ description: 'Id of the operation to use in its place' })),
    keys: Type.Array(
      Type.Object({ id: Id(), name: Type.String(), requests: Type.Integer(), lastUsedAt: Timestamp() }),
      { description: 'Active keys of the org that have called it' },
    ),
  },
  { $id: 'DeprecatedOperation' },
);

/** The audit trail: who did what, each entry chained to the one before it by its hash. */
import { Enum, Json, Nullable, Timestamp, Type, type Static } from './schema';

export const AUDIT_ACTIONS = [
  'org.created',
  'org.updated',
  'api_key.created',
  'api_key.updated',
  'api_key.rotated',
  'api_key.revoked',
  'user.created',
  'agent.created',
  'agent.updated',
  'agent.activated',
  'agent.paused',
  'agent.stopped',
  'agent.deleted',
  'system_agent.activated',
  'system_agent.paused',
  'approval.approved',
  'approval.denied',
  'execution.cancelled',
  'execution.retried',
  'webhook.created',
  'webhook.updated',
  'webhook.deleted',
  'webhook.rotated',
  'webhook.enabled',
  'webhook.disabled',
  'session.signed_in',
  'session.signed_out',
  'session.sign_in_failed',
  'portal_session.created',
  'portal_session.revoked',
] as const;
const ACTOR_KINDS = ['user', 'api_key', 'operator', 'system', 'client_user', 'anonymous'] as const;
const TARGET_KINDS = [
  'org',
  'api_key',
  'agent',
  'approval',
  'execution',
  'session',
  'portal_session',
  'user',
  'webhook',
] as const;
const CHAIN_FAULTS = ['missing', 'repeated', 'unlinked', 'altered'] as const;

const Hash = (description: string) => Type.String({ pattern: '^[0-9a-f]{64}$', description });

export const AuditEntry = Type.Object(
  {
    id: Type.String(),
    tenantId: Type.String(),
    sequence: Type.Integer({ minimum: 1, description: '1, 2, 3 … without gaps, per tenant' }),
    at: Timestamp(),
    actor: Type.Object({
      kind: Enum(ACTOR_KINDS, {
        description: '`operator` decided in the engine’s Web UI, or ran the setup command (`setup`)',
      }),
      id: Type.String(),
      label: Nullable(
        Type.String({ description: 'The e-mail address of a user or client user, or the name a key has at that time' }),
      ),
      ip: Nullable(Type.String({ description: 'Known for sign-ins only' })),
    }),
    action: Enum(AUDIT_ACTIONS),
    target: Type.Object({ kind: Enum(TARGET_KINDS), id: Type.String(), name: Nullable(Type.String()) }),
    details: Json({ description: 'What belongs to the action, such as the fields changed; never a secret' }),
    requestId: Nullable(Type.String()),
    previousHash: Hash('The hash of the entry before; 64 zeros for the first'),
    hash: Hash('SHA-256 of the entry as JSON without `hash`: keys sorted, no white space'),
  },
  { $id: 'AuditEntry' },
);
export type AuditEntry = Static<typeof AuditEntry>;

export const AuditVerification = Type.Object(
  {
    isIntact: Type.Boolean({ description: 'Nothing wrong among the entries looked at' }),
    checked: Type.Integer({ description: 'Entries that are right, from the start of this walk' }),
    head: Nullable(
      Type.Object(
        { sequence: Type.Integer(), hash: Type.String() },
        { description: 'The last right entry; keep it elsewhere to notice a chain that was rewritten as a whole' },
      ),
    ),
    firstBroken: Nullable(
      Type.Object({
        sequence: Type.Integer(),
        reason: Enum(CHAIN_FAULTS, {
          description:
            '`missing`: no entry has the number; `repeated`: two have it; `unlinked`: it does not follow the entry before; `altered`: its content is not what was hashed',
        }),
      }),
    ),
    nextSequence: Nullable(Type.Integer({ description: 'Where to go on when the trail is longer than one walk' })),
  },
  { $id: 'AuditVerification' },
);
export type ChainFault = NonNullable<Static<typeof AuditVerification>['firstBroken']>;

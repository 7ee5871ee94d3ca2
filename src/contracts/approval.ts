/** Approvals: the record a person decides on. It alone says what was decided. */
import { Closed, Enum, Nullable, Timestamp, Type, type Static } from './schema';

export const APPROVAL_STATUSES = ['pending', 'approved', 'denied', 'expired'] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];
export const DECISIONS = ['approved', 'denied'] as const;
export type Decision = (typeof DECISIONS)[number];
export const DECIDED_VIA = ['api', 'console', 'temporal', 'system'] as const;
export type DecidedVia = (typeof DECIDED_VIA)[number];

export const Approval = Type.Object(
  {
    id: Type.String(),
    execution_id: Type.String(),
    agent_id: Type.String(),
    step_id: Type.String(),
    message: Type.String(),
    status: Enum(APPROVAL_STATUSES),
    expires_at: Timestamp(),
    created_at: Timestamp(),
    decided_by: Nullable(Type.String()),
    decided_at: Nullable(Timestamp()),
    decided_via: Nullable(Enum(DECIDED_VIA)),
    note: Nullable(Type.String()),
  },
  { $id: 'Approval' },
);
export type Approval = Static<typeof Approval>;

export const DecideApproval = Closed(
  { decision: Enum(DECISIONS), note: Type.Optional(Type.String({ maxLength: 2_000 })) },
  { $id: 'DecideApproval' },
);

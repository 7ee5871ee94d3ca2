/** Approvals: the record a person decides on. It alone says what was decided. */
import { Closed, Enum, Nullable, Timestamp, Type, type Static } from './schema';

export const APPROVAL_STATUSES = ['pending', 'approved', 'denied', 'expired'] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];
export const DECISIONS = ['approved', 'denied'] as const;
export type Decision = (typeof DECISIONS)[number];
export const DECIDED_VIA = ['api', 'console', 'portal', 'temporal', 'system'] as const;
export type DecidedVia = (typeof DECIDED_VIA)[number];

export const UNADDRESSED = ['no_contact', 'contact_not_found', 'contact_of_another_client'] as const;

/** Who was asked beside the org's own users; found out when the gate opened. */
export const Approver = Type.Object(
  {
    kind: Enum(['org_users', 'portal_contact']),
    contact_id: Nullable(Type.String({ description: 'The contact that may decide through the portal' })),
    client_id: Nullable(Type.String({ description: 'The contact’s company at that time' })),
    unaddressed: Nullable(
      Enum(UNADDRESSED, {
        description: 'Why no contact can decide although the step names one; the org’s users still can',
      }),
    ),
  },
  { $id: 'Approver' },
);
export type Approver = Static<typeof Approver>;

/** Nobody beside the org's own users. */
export const ORG_USERS: Approver = { kind: 'org_users', contact_id: null, client_id: null, unaddressed: null };

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
    decided_by_name: Nullable(
      Type.String({ description: 'Who that was at that time: the name of the key, or the mail address of the person' }),
    ),
    decided_at: Nullable(Timestamp()),
    decided_via: Nullable(Enum(DECIDED_VIA)),
    note: Nullable(Type.String()),
    approver: Approver,
  },
  { $id: 'Approval' },
);
export type Approval = Static<typeof Approval>;

export const DecideApproval = Closed(
  { decision: Enum(DECISIONS), note: Type.Optional(Type.String({ maxLength: 2_000 })) },
  { $id: 'DecideApproval' },
);

/** What the portal's own endpoints take and answer: tokens, sessions and sign-in by mail. */
import { Closed, Enum, Id, Nullable, Timestamp, Type, type Static } from './schema';

const CODE_LENGTH_MAX = 200;

/** Shown once: nothing of the token is kept. */
export const IssuedPortalToken = Type.Object(
  {
    token: Nullable(Type.String({ description: 'Send it as `Authorization: Bearer <token>`; `null` in a replay' })),
    tokenShown: Type.Optional(Type.Boolean({ description: '`true` when an earlier answer has shown the token' })),
    expiresAt: Timestamp({ description: 'When the token ends; renew it before' }),
    sessionId: Id(),
  },
  { $id: 'IssuedPortalToken' },
);

const SESSION_STATUSES = ['active', 'revoked'] as const;

export const PortalSession = Type.Object(
  {
    id: Id(),
    clientUserId: Id(),
    companyId: Id(),
    via: Enum(['staff', 'mail'], { description: 'Opened by staff or the MSP’s own portal, or by a code sent by mail' }),
    status: Enum(SESSION_STATUSES),
    createdAt: Timestamp(),
    createdBy: Type.String({ description: 'The user, key or client user that opened it' }),
    expiresAt: Timestamp({ description: 'The absolute end; no token of the session outlives it' }),
    revokedAt: Nullable(Timestamp()),
    revokedBy: Nullable(Type.String()),
  },
  { $id: 'PortalSession' },
);
export type PortalSession = Static<typeof PortalSession>;

export const PortalSignIn = Closed(
  {
    email: Type.String({ minLength: 3, maxLength: 254, format: 'email' }),
    tenant: Id({ description: 'Id of the MSP’s org' }),
  },
  { $id: 'PortalSignIn' },
);

export const PortalSignInReceipt = Type.Object(
  { message: Type.String(), codeLifetimeSeconds: Type.Integer() },
  { $id: 'PortalSignInReceipt' },
);

export const RedeemCode = Closed(
  { code: Type.String({ minLength: 1, maxLength: CODE_LENGTH_MAX, description: 'As it stands in the mail' }) },
  { $id: 'RedeemCode' },
);

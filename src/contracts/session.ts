/** Console sessions and the live state of the limits. */
import { PERMISSIONS, TIERS } from './principal';
import { Closed, Enum, Nullable, Timestamp, Type, type Static } from './schema';

export const SignIn = Closed(
  {
    email: Type.String({ minLength: 1, maxLength: 254 }),
    password: Type.String({ minLength: 1, maxLength: 200 }),
  },
  { $id: 'SignIn' },
);

export const Session = Type.Object(
  {
    user: Type.Object({
      id: Type.String(),
      email: Type.String(),
      displayName: Type.String(),
      role: Type.String(),
      permissions: Type.Array(Enum(PERMISSIONS)),
    }),
    org: Type.Object({ id: Type.String(), name: Type.String(), tier: Enum(TIERS), timezone: Type.String() }),
    csrfToken: Type.String({ description: 'Send it as X-CSRF-Token with every unsafe method' }),
    expiresAt: Timestamp({ description: 'When the session ends for good; it renews itself until then' }),
  },
  { $id: 'Session' },
);
export type Session = Static<typeof Session>;

const Policy = Type.Object({
  name: Type.String({
    description:
      '`key`: the calling key; `tenant`: all of its keys and sessions; `conditional`: polls with `If-None-Match` once those are spent; `mail`: its mail keys',
  }),
  limit: Type.Integer(),
  remaining: Type.Integer(),
  window: Type.String(),
  resetAt: Timestamp({ description: 'When the policy next admits a full window' }),
  sustainedPerMinute: Nullable(Type.Integer()),
});

export const RateLimitState = Type.Object(
  { tier: Enum(TIERS), policies: Type.Array(Policy) },
  { $id: 'RateLimitState' },
);
export type RateLimitState = Static<typeof RateLimitState>;

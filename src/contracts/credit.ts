/** Credits: what AI steps consumed in a calendar month (UTC), against the org's allocation. */
import { MODEL_TIERS } from './step';
import { Timestamp, Type, type Static } from './schema';

const month = Type.String({ pattern: '^\\d{4}-\\d{2}$' });
const byModel = Object.fromEntries(MODEL_TIERS.map((tier) => [tier, Type.Integer()]));

export const CreditUsage = Type.Object(
  {
    org_id: Type.String(),
    month,
    total_used: Type.Integer(),
    allocation: Type.Integer(),
    remaining: Type.Integer({
      description: '`allocation` minus `total_used`; below zero when a call cost more than was held for it',
    }),
    by_agent: Type.Record(Type.String(), Type.Integer()),
    by_model: Type.Unsafe<Record<(typeof MODEL_TIERS)[number], number>>(Type.Object(byModel)),
    reserved: Type.Integer({ description: 'Held for AI steps that are running now; part of neither figure' }),
    updated_at: Timestamp(),
  },
  { $id: 'CreditUsage' },
);
export type CreditUsage = Static<typeof CreditUsage>;

export const CreditHistory = Type.Object(
  { history: Type.Array(Type.Object({ month, total_used: Type.Integer(), allocation: Type.Integer() })) },
  { $id: 'CreditHistory' },
);

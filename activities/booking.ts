/** What an AI step's record says its call cost, in the form the account is settled with. */
import type { ModelTier } from '../src/contracts/step';
import { addTokens, type TokenUsage } from '../src/domain/credits';
import type { Reservation } from '../src/store/credits';
import type { ExecutionRecord, StepSlot } from '../src/store/executions';

export interface Booking {
  reservation: Reservation;
  used: number;
}

/** Where a call is reserved. */
export type Account = Pick<Reservation, 'month' | 'credits' | 'tier'>;

/** The same in its record: one that carries it can be booked by whoever finds it. */
export const accountOf = ({ credits, month, tier }: Account): Record<string, unknown> => ({
  reserved: credits,
  month,
  tier,
});

/** Tokens of all attempts that brought no answer; null when there was none such. */
export function spentOf(slot: StepSlot | undefined): TokenUsage | null {
  const attempts = Object.values(slot?.spent ?? {});
  return attempts.length === 0 ? null : attempts.reduce(addTokens);
}

/** Null while the slot has no call on record. The same figures however often it is asked. */
export function bookingOf(record: ExecutionRecord, slot: StepSlot | undefined): Booking | null {
  if (!slot?.usage?.['tier']) return null;
  return {
    reservation: {
      orgId: record.org_id,
      month: String(slot.usage['month']),
      id: `${record._id}:${slot.path}`,
      agentId: record.agent_id,
      tier: slot.usage['tier'] as ModelTier,
      credits: Number(slot.usage['reserved']),
    },
    used: slot.credits_used,
  };
}

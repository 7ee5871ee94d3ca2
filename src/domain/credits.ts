/** What AI calls cost, and the calendar months they are counted in (UTC). */
import type { Tier } from '../contracts/principal';
import type { ModelTier } from '../contracts/step';

const TIER_BASE: Record<ModelTier, number> = { quick: 1, standard: 3, premium: 10, expert: 25 };
const BLOCK_TOKENS = 8_000;
/** Output tokens cost about four times an input token at every provider. */
const OUTPUT_WEIGHT = 4;
const CHARACTERS_PER_TOKEN = 3.5;
const OUTPUT_TOKENS_EXPECTED = 500;

/** Monthly allocation by subscription tier, unless the org has its own. */
export const ALLOCATION: Record<Tier, number> = { standard: 1_000, professional: 10_000, enterprise: 100_000 };
/** Active agents by subscription tier, unless the org has its own cap. */
export const AGENT_CAP: Record<Tier, number> = { standard: 10, professional: 50, enterprise: 250 };

export interface TokenUsage {
  input_tokens: number;
  output_tokens: number;
}

export const addTokens = (one: TokenUsage, other: TokenUsage): TokenUsage => ({
  input_tokens: one.input_tokens + other.input_tokens,
  output_tokens: one.output_tokens + other.output_tokens,
});

/** Credits of one call: the tier's base for each started block of 8 000 weighted tokens. Always a whole number. */
export const creditsFor = (tier: ModelTier, usage: TokenUsage): number =>
  TIER_BASE[tier] * Math.max(1, Math.ceil((usage.input_tokens + OUTPUT_WEIGHT * usage.output_tokens) / BLOCK_TOKENS));

/** Output tokens a call will take, as far as anybody can tell. */
export const expectedOutput = (maxOutputTokens?: number): number =>
  Math.min(maxOutputTokens ?? OUTPUT_TOKENS_EXPECTED, OUTPUT_TOKENS_EXPECTED);

/** Credits to hold before a call whose real usage is not known yet. */
export const estimateCredits = (tier: ModelTier, prompt: string, maxOutputTokens?: number): number =>
  creditsFor(tier, {
    input_tokens: Math.ceil(prompt.length / CHARACTERS_PER_TOKEN),
    output_tokens: expectedOutput(maxOutputTokens),
  });

/** Percent of the month's allocation that an org is told of when they are used. */
export const THRESHOLDS = [80, 100] as const;

/** Those that are used and were not told of. An org without any credits of its own has none. */
export const thresholdsPast = (account: { allocation: number; total_used: number; told?: number }): number[] =>
  THRESHOLDS.filter(
    (percent) =>
      account.allocation > 0 &&
      percent > (account.told ?? 0) &&
      account.total_used * 100 >= percent * account.allocation,
  );

export const monthOf = (at: Date): string => at.toISOString().slice(0, 7);

/** The `count` months before the month of `at`, newest first. */
export function monthsBefore(at: Date, count: number): string[] {
  return Array.from({ length: count }, (_unused, index) =>
    monthOf(new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - 1 - index, 1))),
  );
}

/** Midnight UTC at which the next month's allocation begins. */
export const nextMonthStart = (at: Date): Date => new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1));

/** Model tiers behind one interface. */
import type { Config } from '../config';
import type { ModelTier } from '../contracts/step';
import { createOfflineAi } from './ai-offline';
import { createSdkAi } from './ai-sdk';
import { ProviderError, type Usage } from './error';

/** One question to a model. */
export interface AiRequest {
  tier: ModelTier;
  system: string;
  prompt: string;
  /** JSON Schema of an object the answer must be. */
  schema?: Record<string, unknown>;
  maxOutputTokens?: number;
  /** How long the answer may take, repairs included; by tier unless named. */
  timeoutMs?: number;
  signal: AbortSignal;
}

/** What the model said and what it cost, repairs included. */
export interface AiAnswer {
  text: string;
  /** Present exactly when a schema was given, and always valid by it. */
  object?: Record<string, unknown>;
  /** The text ends where the limit cut it off; answers by a schema fail instead. */
  truncated?: true;
  usage: Usage;
  /** The tier that answered: the nearest configured one when the asked tier has no model. */
  model: { tier: ModelTier; provider: string; name: string };
  /** The first answer did not fit the schema and was mended. */
  repaired: boolean;
}

/** A source of answers. */
export interface Ai {
  /** The provider as configured: `offline`, `openai`, `anthropic` or `openai_compatible`. */
  readonly name: string;
  generate(request: AiRequest): Promise<AiAnswer>;
}

const SDK_PROVIDERS: ReadonlySet<string> = new Set(['openai', 'anthropic', 'openai_compatible']);

/** Builds the provider the configuration names; an unknown name is refused at once. */
export function createAi(config: Config['ai']): Ai {
  if (config.provider === 'offline') return createOfflineAi();
  if (SDK_PROVIDERS.has(config.provider)) return createSdkAi(config);
  const known = ['offline', ...SDK_PROVIDERS].join(', ');
  throw new ProviderError('not_configured', `AI_PROVIDER must be one of ${known}, got "${config.provider}"`);
}

/** Which model answers for a tier, and how its provider is spoken to. */
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { wrapLanguageModel, type LanguageModel } from 'ai';
import type { Config } from '../config';
import { MODEL_TIERS, type ModelTier } from '../contracts/step';
import { memoised } from '../domain/memoised';
import { asCompatible } from './ai-compatible';
import { createAiFetch } from './ai-fetch';
import { ProviderError } from './error';

type AiConfig = Config['ai'];

/** The model of a tier; `tier` is the one that answers, which differs from the asked one when that has no model. */
export interface ChosenModel {
  tier: ModelTier;
  name: string;
  model: LanguageModel;
}

/** Finds the model for a tier. */
export type ModelChoice = (tier: ModelTier) => ChosenModel;

type ModelFactory = (name: string) => LanguageModel;

function openaiCompatible({ apiKey, baseUrl }: AiConfig): ModelFactory {
  if (!baseUrl) throw new ProviderError('not_configured', 'AI_PROVIDER is openai_compatible: set AI_BASE_URL');
  const key = apiKey ? { apiKey } : {};
  const settings = { name: 'compatible', baseURL: baseUrl, supportsStructuredOutputs: true, fetch: createAiFetch() };
  const provider = createOpenAICompatible({ ...settings, ...key });
  return (name) => wrapLanguageModel({ model: provider(name), middleware: asCompatible });
}

function hosted({ provider, apiKey, baseUrl }: AiConfig): ModelFactory {
  // Asked for here, or the SDK would look for a key of its own in the environment.
  if (!apiKey) throw new ProviderError('not_configured', `AI_PROVIDER is ${provider}: set AI_API_KEY`);
  const settings = { apiKey, fetch: createAiFetch(), ...(baseUrl ? { baseURL: baseUrl } : {}) };
  return provider === 'anthropic' ? createAnthropic(settings) : createOpenAI(settings);
}

/** The configured tier nearest to the asked one; of two as near, the smaller, so that a gap never costs more. */
function nearestTier(models: AiConfig['models'], tier: ModelTier): ModelTier | undefined {
  const asked = MODEL_TIERS.indexOf(tier);
  const [nearest] = MODEL_TIERS.filter((one) => models[one]).sort(
    (one, other) => Math.abs(MODEL_TIERS.indexOf(one) - asked) - Math.abs(MODEL_TIERS.indexOf(other) - asked),
  );
  return nearest;
}

/** Builds the choice; a missing key, address or model is reported by the first question and not at start. */
export function createModelChoice(config: AiConfig): ModelChoice {
  let factory: ModelFactory | undefined;
  // The SDK makes the schemas of a model's replies anew with each model, which takes longer than using it.
  return memoised(MODEL_TIERS.length, (asked: ModelTier) => {
    const tier = nearestTier(config.models, asked);
    if (!tier)
      throw new ProviderError('not_configured', `No model for the ${asked} tier: set AI_MODEL_${asked.toUpperCase()}`);
    factory ??= config.provider === 'openai_compatible' ? openaiCompatible(config) : hosted(config);
    return { tier, name: config.models[tier], model: factory(config.models[tier]) };
  });
}

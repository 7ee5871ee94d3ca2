/** The provider without a model: deterministic, useful, and it never pretends to be one. */
import type { Ai, AiAnswer, AiRequest } from './ai';
import { checkerOf, inTime } from './ai-schema';
import { fillSchema } from './ai-fill';
import { ProviderError, type Usage } from './error';
import { dataOf } from './prompt';
import { summarise } from './text-words';

const CHARACTERS_PER_TOKEN = 3.5;
const FILL_MS_MAX = 1_000;
const SUMMARY = { sentences: 3, length: 600 };

const tokensOf = (...texts: string[]): number => Math.ceil(texts.join('').length / CHARACTERS_PER_TOKEN);

function answerSchema(schema: Record<string, unknown>, text: string, spent: (answer: string) => Usage) {
  const check = checkerOf(schema);
  const object = inTime(() => fillSchema(schema, text), FILL_MS_MAX);
  const checked = check(object);
  const answer = JSON.stringify(object);
  if (!checked.ok)
    throw new ProviderError('invalid_output', `The offline provider cannot fill this schema: ${checked.problems}`, {
      usage: spent(answer),
    });
  return { text: answer, object: checked.object };
}

function generate({ tier, system, prompt, schema, maxOutputTokens, signal }: AiRequest): AiAnswer {
  signal.throwIfAborted();
  const text = dataOf(prompt);
  const spent = (answer: string): Usage => ({
    input_tokens: tokensOf(system, prompt, schema ? JSON.stringify(schema) : ''),
    output_tokens: tokensOf(answer),
  });
  const length = Math.min(SUMMARY.length, Math.floor((maxOutputTokens ?? SUMMARY.length) * CHARACTERS_PER_TOKEN));
  const answer = schema ? answerSchema(schema, text, spent) : { text: summarise(text, { ...SUMMARY, length }) };
  return {
    ...answer,
    usage: spent(answer.text),
    model: { tier, provider: 'offline', name: 'extractive' },
    repaired: false,
  };
}

/** Builds the offline provider. */
export function createOfflineAi(): Ai {
  return { name: 'offline', generate: async (request) => generate(request) };
}

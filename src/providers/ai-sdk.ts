/** Questions to real models: native schema mode, free repair, one paid repair, then a clear failure. */
import {
  APICallError,
  generateText,
  jsonSchema,
  NoObjectGeneratedError,
  Output,
  type LanguageModelUsage,
  type ModelMessage,
} from 'ai';
import type { Config } from '../config';
import type { ModelTier } from '../contracts/step';
import { addTokens, expectedOutput } from '../domain/credits';
import type { Ai, AiAnswer, AiRequest } from './ai';
import { asProviderError } from './ai-errors';
import { createModelChoice, type ChosenModel, type ModelChoice } from './ai-models';
import { checkerOf, readAnswer, type Checker } from './ai-schema';
import { withDeadline } from './deadline';
import { ProviderError, type Usage } from './error';

// Unless the request has a limit of its own.
const TIMEOUT_MS: Record<ModelTier, number> = { quick: 55_000, standard: 55_000, premium: 290_000, expert: 290_000 };
const CHARACTERS_PER_TOKEN = 3.5;
const BAD_ANSWER_LENGTH_MAX = 16_000;
/** More than any model takes in one call. */
const TOKENS_MAX = 10_000_000;

interface Reply {
  text: string;
  finish: string;
}

/** One request's way through its calls; what it spent outlives a failure. */
interface Session {
  request: AiRequest;
  chosen: ChosenModel;
  spent: Usage;
  /** The provider takes the schema itself; otherwise it is asked for in words. */
  isNative: boolean;
}

type Counted = Pick<LanguageModelUsage, 'inputTokens' | 'outputTokens'>;

function addUsage(session: Session, usage: Counted | undefined, texts: { asked: string; answered: string }) {
  // Some compatible servers count nothing, or something else; an estimate keeps credits from being free, and from being
  // gone at once.
  const tokens = (counted: number | undefined, text: string): number =>
    counted !== undefined && Number.isInteger(counted) && counted >= 0 && counted <= TOKENS_MAX
      ? counted
      : Math.ceil(text.length / CHARACTERS_PER_TOKEN);
  session.spent = addTokens(session.spent, {
    input_tokens: tokens(usage?.inputTokens, texts.asked),
    output_tokens: tokens(usage?.outputTokens, texts.answered),
  });
}

const asRecord = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};

/** OpenAI's strict mode takes only schemas whose objects are closed and require every property. */
function isStrict(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isStrict);
  const node = asRecord(schema);
  if (node['type'] === 'object' || node['properties']) {
    const names = Object.keys(asRecord(node['properties']));
    const required: unknown[] = Array.isArray(node['required']) ? node['required'] : [];
    if (node['additionalProperties'] !== false || !names.every((name) => required.includes(name))) return false;
  }
  return Object.values(node).every((value) => typeof value !== 'object' || isStrict(value));
}

function schemaOptions(schema: Record<string, unknown>, check: Checker) {
  const strictJsonSchema = isStrict(schema);
  const validate = (value: unknown) => {
    const checked = check(value);
    return checked.ok
      ? { success: true as const, value: checked.object }
      : { success: false as const, error: new Error(checked.problems) };
  };
  return {
    output: Output.object({ schema: jsonSchema<Record<string, unknown>>(schema, { validate }) }),
    providerOptions: { openai: { strictJsonSchema, store: false }, compatible: { strictJsonSchema } },
  };
}

function systemText({ request, isNative }: Session): string {
  if (!request.schema || isNative) return request.system;
  const rule = 'Answer with one JSON object and nothing else. It must be valid by this JSON Schema:';
  return `${request.system}\n\n${rule}\n${JSON.stringify(request.schema)}`;
}

async function callModel(session: Session, messages: ModelMessage[], signal: AbortSignal): Promise<Reply> {
  const { request, chosen, isNative } = session;
  const system = systemText(session);
  const asked = system + JSON.stringify(messages);
  const withSchema = request.schema && isNative ? schemaOptions(request.schema, checkerOf(request.schema)) : {};
  try {
    const result = await generateText({
      model: chosen.model,
      ...(system ? { system } : {}),
      messages,
      maxRetries: 0,
      abortSignal: signal,
      ...(request.maxOutputTokens === undefined ? {} : { maxOutputTokens: request.maxOutputTokens }),
      providerOptions: { openai: { store: false } },
      ...withSchema,
    });
    addUsage(session, result.totalUsage, { asked, answered: result.text });
    return { text: result.text, finish: result.finishReason };
  } catch (error) {
    // An answer that was too large to be read was paid for; how much of it the model wrote, nobody knows.
    const isUnread = error instanceof ProviderError && error.kind === 'invalid_output';
    const guessed = { inputTokens: undefined, outputTokens: expectedOutput(request.maxOutputTokens) };
    if (isUnread) addUsage(session, guessed, { asked, answered: '' });
    // Not a failed call: an answer that does not fit the schema. It was paid for and can be repaired.
    if (!NoObjectGeneratedError.isInstance(error)) throw error;
    const text = error.text ?? '';
    addUsage(session, error.usage, { asked, answered: text });
    return { text, finish: error.finishReason ?? 'unknown' };
  }
}

const question = ({ prompt }: AiRequest): ModelMessage[] => [{ role: 'user', content: prompt }];

function repairQuestion(request: AiRequest, answer: string, problems: string): ModelMessage[] {
  const content = `Your answer is not valid: ${problems}. Answer again with only the corrected JSON object.`;
  const bad = answer.slice(0, BAD_ANSWER_LENGTH_MAX) || '(empty)';
  return [...question(request), { role: 'assistant', content: bad }, { role: 'user', content }];
}

const isRefused = (error: unknown): boolean =>
  APICallError.isInstance(error) && (error.statusCode === 400 || error.statusCode === 422);

/** Schemas use words that a provider's native mode may not take; then the schema is put in words instead. */
async function firstCall(session: Session, signal: AbortSignal): Promise<Reply> {
  try {
    return await callModel(session, question(session.request), signal);
  } catch (error) {
    if (!session.request.schema || !isRefused(error)) throw error;
    session.isNative = false;
    return callModel(session, question(session.request), signal);
  }
}

/** An answer that is not asked for by a schema. What was cut off may still be of use, to whoever knows that it was. */
function textOf({ text, finish }: Reply): Pick<AiAnswer, 'text' | 'truncated'> {
  const isCut = finish === 'length';
  if (text.trim() !== '') return { text, ...(isCut ? { truncated: true } : {}) };
  throw new ProviderError(
    'invalid_output',
    isCut
      ? 'The model reached its limit before it answered: raise max_output_tokens or ask for less'
      : `The model answered with no text (${finish})`,
  );
}

async function ask(session: Session, config: Config['ai'], signal: AbortSignal): Promise<AiAnswer> {
  const { request, chosen } = session;
  const model = { tier: chosen.tier, provider: config.provider, name: chosen.name };
  const first = await firstCall(session, signal);
  if (first.finish === 'content-filter')
    throw new ProviderError('rejected', 'The AI provider declined to answer this prompt');
  if (!request.schema) return { ...textOf(first), usage: session.spent, model, repaired: false };
  const check = checkerOf(request.schema);
  const answer = readAnswer(first.text, check);
  if (answer.ok)
    return { text: first.text, object: answer.object, usage: session.spent, model, repaired: answer.repaired };
  // Asking again for an answer that did not fit into the limit would pay for the same cut twice.
  if (first.finish === 'length')
    throw new ProviderError('invalid_output', 'The answer was cut off: raise max_output_tokens or ask for less');
  const second = await callModel(session, repairQuestion(request, first.text, answer.problems), signal);
  const mended = readAnswer(second.text, check);
  if (!mended.ok) throw new ProviderError('invalid_output', `The answer does not fit the schema: ${mended.problems}`);
  return { text: second.text, object: mended.object, usage: session.spent, model, repaired: true };
}

/** The error with the model that was asked and what the request had spent before it. */
function told(error: ProviderError, { spent, chosen, request }: Session, provider: string): ProviderError {
  return new ProviderError(error.kind, error.message, {
    retryAfterMs: error.retryAfterMs,
    cause: error.cause,
    usage: spent.input_tokens + spent.output_tokens === 0 ? undefined : spent,
    model: { tier: request.tier, provider, name: chosen.name },
  });
}

async function generate(request: AiRequest, choose: ModelChoice, config: Config['ai']): Promise<AiAnswer> {
  const chosen = choose(request.tier);
  if (request.schema) checkerOf(request.schema);
  const session: Session = { request, chosen, spent: { input_tokens: 0, output_tokens: 0 }, isNative: true };
  const timeoutMs = request.timeoutMs ?? TIMEOUT_MS[request.tier];
  const deadline = { signal: request.signal, timeoutMs, from: 'The AI provider' };
  try {
    return await withDeadline(deadline, (signal) => ask(session, config, signal));
  } catch (error) {
    // The caller's own abort passes untouched.
    request.signal.throwIfAborted();
    throw told(asProviderError(error, config.apiKey), session, config.provider);
  }
}

/** Builds a provider on the AI SDK. Nothing is retried here: Temporal owns retries. */
export function createSdkAi(config: Config['ai']): Ai {
  // The SDK would write its warnings to the console.
  globalThis.AI_SDK_LOG_WARNINGS = false;
  const choose = createModelChoice(config);
  return { name: config.provider, generate: (request) => generate(request, choose, config) };
}

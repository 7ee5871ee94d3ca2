/** A model API on loopback: OpenAI chat completions and responses, and Anthropic messages, as the real ones speak. */
import { startHttpServer, type Answer, type HttpStandIn, type ReceivedRequest } from './http-server';

/** One question, whichever API it came through. */
export interface ModelRequest {
  api: 'chat' | 'responses' | 'messages';
  model: string;
  system: string;
  /** The text of every message that is not the system's, oldest first. */
  messages: { role: string; text: string }[];
  /** The schema given in native mode. */
  schema?: Record<string, unknown>;
  headers: Record<string, string>;
  body: Record<string, unknown>;
}

/** What the model says, or how the API fails. */
export interface ModelReply {
  text?: string;
  usage?: { input_tokens: number; output_tokens: number };
  finish?: 'stop' | 'length' | 'content_filter';
  /** Answers this instead of a model's reply. */
  raw?: Answer;
}

type Reply = (request: ModelRequest) => string | ModelReply;

/** A running model API whose answers can be changed on the way. `url` is what `AI_BASE_URL` takes. */
export interface ModelApi extends Omit<HttpStandIn, 'requests'> {
  readonly requests: ModelRequest[];
  setReply(reply: Reply): void;
  setDelay(delayMs: number): void;
}

type Json = Record<string, unknown>;
const asJson = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});
const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return asList(content)
    .map((part) => asJson(part)['text'])
    .filter((text) => typeof text === 'string')
    .join('\n');
}

const APIS: Record<string, ModelRequest['api']> = {
  '/v1/chat/completions': 'chat',
  '/v1/responses': 'responses',
  '/v1/messages': 'messages',
};

function schemaOf(body: Json): Json | undefined {
  const chat = asJson(asJson(body['response_format'])['json_schema'])['schema'];
  const responses = asJson(asJson(body['text'])['format'])['schema'];
  const anthropic =
    asJson(asJson(body['output_config'])['format'])['schema'] ?? asJson(body['output_format'])['schema'];
  const tool = asJson(asList(body['tools'])[0])['input_schema'];
  const found = chat ?? responses ?? anthropic ?? tool;
  return found ? asJson(found) : undefined;
}

function read(api: ModelRequest['api'], { headers, body: raw }: ReceivedRequest): ModelRequest {
  const body = asJson(raw);
  const all = asList(body['messages'] ?? body['input']).map((one) => ({
    role: String(asJson(one)['role']),
    text: textOf(asJson(one)['content']),
  }));
  const isSystem = (role: string) => role === 'system' || role === 'developer';
  const spoken = all.filter(({ role }) => isSystem(role)).map(({ text }) => text);
  const system = [textOf(body['system']), ...spoken].filter(Boolean).join('\n');
  const schema = schemaOf(body);
  const messages = all.filter(({ role }) => !isSystem(role));
  return { api, model: String(body['model']), system, messages, ...(schema ? { schema } : {}), headers, body };
}

/** A value that satisfies simple schemas, so that callers who do not care need not say anything. */
function sampleOf(schema: Json): unknown {
  if ('const' in schema) return schema['const'];
  const [option] = asList(schema['enum']);
  if (option !== undefined) return option;
  const type = asList(schema['type'])[0] ?? schema['type'];
  if (type === 'object' || schema['properties']) {
    const properties = Object.entries(asJson(schema['properties']));
    return Object.fromEntries(properties.map(([name, property]) => [name, sampleOf(asJson(property))]));
  }
  const samples: Json = { string: 'sample', number: 1, integer: 1, boolean: true, array: [] };
  return samples[String(type)] ?? null;
}

const defaultReply: Reply = ({ schema }) => (schema ? JSON.stringify(sampleOf(schema)) : 'A sample answer.');

const ENVELOPES: Record<
  ModelRequest['api'],
  (request: ModelRequest, reply: Required<Omit<ModelReply, 'raw'>>) => Json
> = {
  chat: ({ model }, { text, usage, finish }) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model,
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: finish }],
    usage: {
      prompt_tokens: usage.input_tokens,
      completion_tokens: usage.output_tokens,
      total_tokens: usage.input_tokens + usage.output_tokens,
    },
  }),
  responses: ({ model }, { text, usage, finish }) => ({
    id: 'resp_1',
    object: 'response',
    created_at: 1_700_000_000,
    model,
    status: finish === 'stop' ? 'completed' : 'incomplete',
    incomplete_details: finish === 'stop' ? null : { reason: finish === 'length' ? 'max_output_tokens' : finish },
    output: [
      { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text, annotations: [] }] },
    ],
    usage,
  }),
  messages: ({ model, body }, { text, usage, finish }) => {
    const isTool = asList(body['tools']).length > 0;
    const content = isTool
      ? { type: 'tool_use', id: 'toolu_1', name: 'json', input: JSON.parse(text) as unknown }
      : { type: 'text', text };
    const ends = { stop: isTool ? 'tool_use' : 'end_turn', length: 'max_tokens', content_filter: 'refusal' };
    return {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model,
      content: [content],
      stop_reason: ends[finish],
      stop_sequence: null,
      usage,
    };
  },
};

/** Starts the API; it answers a sample (one that fits the schema, if there is one) unless told otherwise. */
export async function startModelApi(options: { reply?: Reply; delayMs?: number } = {}): Promise<ModelApi> {
  let reply = options.reply ?? defaultReply;
  let delayMs = options.delayMs ?? 0;
  const requests: ModelRequest[] = [];
  const server = await startHttpServer((received) => {
    const api = APIS[received.path];
    if (!api) return { status: 404, body: { error: { message: `No such path: ${received.path}` } } };
    const request = read(api, received);
    requests.push(request);
    const said = reply(request);
    const given: ModelReply = typeof said === 'string' ? { text: said } : said;
    if (given.raw) return { delayMs, ...given.raw };
    const full = { text: '', finish: 'stop' as const, usage: { input_tokens: 100, output_tokens: 20 }, ...given };
    return { delayMs, body: ENVELOPES[api](request, full) };
  });
  return {
    ...server,
    url: `${server.url}/v1`,
    requests,
    setReply(next) {
      reply = next;
    },
    setDelay(next) {
      delayMs = next;
    },
  };
}

import { createAi, type Ai, type AiRequest } from '../../../src/providers/ai';
import type { Config } from '../../../src/config';
import { startModelApi, type ModelApi } from '../../support/stand-ins/model-api';

type AiConfig = Config['ai'];

let api: ModelApi;

const config = (over: Partial<AiConfig> = {}): AiConfig => ({
  provider: 'openai_compatible',
  apiKey: 'sk-test-secret',
  baseUrl: api.url,
  models: { quick: 'small-1', standard: 'medium-1', premium: 'large-1', expert: 'huge-1' },
  ...over,
});

const SCHEMA = {
  type: 'object',
  properties: { category: { type: 'string', enum: ['hardware', 'network'] }, urgent: { type: 'boolean' } },
  required: ['category', 'urgent'],
  additionalProperties: false,
};
const GOOD = '{"category":"network","urgent":true}';

const request = (over: Partial<AiRequest> = {}): AiRequest => ({
  tier: 'standard',
  system: 'You classify tickets.',
  prompt: 'The VPN is down.',
  signal: new AbortController().signal,
  ...over,
});

const create = (over: Partial<AiConfig> = {}): Ai => createAi(config(over));

beforeEach(async () => {
  api = await startModelApi();
});

afterEach(async () => {
  await api.stop();
});

describe.each([
  ['openai_compatible', 'chat'],
  ['openai', 'responses'],
  ['anthropic', 'messages'],
] as const)('%s', (provider, wire) => {
  test('answers text with usage and the model of the tier', async () => {
    api.setReply(() => ({ text: 'It is the VPN.', usage: { input_tokens: 12, output_tokens: 5 } }));
    const answer = await create({ provider }).generate(request({ maxOutputTokens: 64 }));
    expect(answer).toEqual({
      text: 'It is the VPN.',
      usage: { input_tokens: 12, output_tokens: 5 },
      model: { tier: 'standard', provider, name: 'medium-1' },
      repaired: false,
    });
    expect(api.requests).toHaveLength(1);
    expect(api.requests[0]).toMatchObject({ api: wire, model: 'medium-1', system: 'You classify tickets.' });
    expect(api.requests[0]?.messages).toEqual([{ role: 'user', text: 'The VPN is down.' }]);
    const headers = api.requests[0]?.headers;
    expect(`${headers?.['authorization']} ${headers?.['x-api-key']}`).toContain('sk-test-secret');
  });

  test('sends the schema in its native mode and answers the object', async () => {
    api.setReply(() => GOOD);
    const answer = await create({ provider }).generate(request({ schema: SCHEMA }));
    expect(answer).toMatchObject({ object: { category: 'network', urgent: true }, repaired: false });
    expect(api.requests).toHaveLength(1);
    expect(api.requests[0]?.schema).toMatchObject({ properties: { category: { enum: ['hardware', 'network'] } } });
  });
});

test('anthropic models with a native mode are asked in it', async () => {
  api.setReply(() => GOOD);
  const models = { quick: '', standard: 'claude-haiku-5-5', premium: '', expert: '' };
  const answer = await create({ provider: 'anthropic', models }).generate(request({ schema: SCHEMA }));
  expect(answer.object).toEqual({ category: 'network', urgent: true });
  expect(api.requests[0]?.body['tools']).toBeUndefined();
  expect(api.requests[0]?.schema).toBeDefined();
});

describe('an answer that does not fit the schema', () => {
  test.each([
    ['in a code fence', `Here you are:\n\`\`\`json\n${GOOD}\n\`\`\``],
    ['in prose', `Sure! The answer is ${GOOD} - anything else?`],
  ])('but holds one that does, %s, is repaired without a call', async (_where, text) => {
    api.setReply(() => text);
    const answer = await create().generate(request({ schema: SCHEMA }));
    expect(answer).toMatchObject({ object: { category: 'network', urgent: true }, repaired: true });
    expect(api.requests).toHaveLength(1);
  });

  test('is repaired by one call that is told what is wrong, and both are counted', async () => {
    api.setReply(({ messages }) => (messages.length === 1 ? '{"category":"printer"}' : GOOD));
    const answer = await create().generate(request({ schema: SCHEMA }));
    expect(answer).toMatchObject({ object: { category: 'network', urgent: true }, repaired: true });
    expect(answer.usage).toEqual({ input_tokens: 200, output_tokens: 40 });
    expect(api.requests).toHaveLength(2);
    const [, bad, complaint] = api.requests[1]?.messages ?? [];
    expect(bad).toEqual({ role: 'assistant', text: '{"category":"printer"}' });
    expect(complaint?.text).toContain("must have required property 'urgent'");
    expect(complaint?.text).toContain('["hardware","network"]');
  });

  test('formats count: a text that is no mail address is asked for again, unknown formats are left alone', async () => {
    const schema = {
      type: 'object',
      properties: { to: { type: 'string', format: 'email' }, id: { type: 'string', format: 'ticket-number' } },
      required: ['to', 'id'],
    };
    const good = { to: 'ada@example.com', id: 'any' };
    api.setReply(({ messages }) => JSON.stringify(messages.length === 1 ? { ...good, to: 'Ada, of course' } : good));
    const answer = await create().generate(request({ schema }));
    expect(answer).toMatchObject({ object: good, repaired: true });
    expect(api.requests[1]?.messages.at(-1)?.text).toContain('/to must match format');
  });

  test.each(['not JSON at all', '', '[]', 'null', '{"category":'])(
    'twice (%j) is invalid_output with the usage of both',
    async (text) => {
      api.setReply(() => text);
      await expect(create().generate(request({ schema: SCHEMA }))).rejects.toMatchObject({
        kind: 'invalid_output',
        retryable: false,
        usage: { input_tokens: 200, output_tokens: 40 },
      });
      expect(api.requests).toHaveLength(2);
    },
  );

  test('because it was cut off is not asked for again', async () => {
    api.setReply(() => ({ text: '{"category":"netw', finish: 'length' }));
    const asking = create().generate(request({ schema: SCHEMA }));
    await expect(asking).rejects.toMatchObject({
      kind: 'invalid_output',
      usage: { input_tokens: 100, output_tokens: 20 },
    });
    await expect(asking).rejects.toThrow('max_output_tokens');
    expect(api.requests).toHaveLength(1);
  });

  test('keeps the usage of the first call when the repair fails', async () => {
    api.setReply(({ messages }) =>
      messages.length === 1 ? 'no' : { raw: { status: 429, headers: { 'retry-after': '3' } } },
    );
    await expect(create().generate(request({ schema: SCHEMA }))).rejects.toMatchObject({
      kind: 'rate_limited',
      retryable: true,
      retryAfterMs: 3_000,
      usage: { input_tokens: 100, output_tokens: 20 },
    });
  });
});

test('a schema the provider refuses is put in words', async () => {
  api.setReply(({ schema }) => (schema ? { raw: { status: 400, body: { error: { message: 'bad schema' } } } } : GOOD));
  const answer = await create().generate(request({ schema: SCHEMA }));
  expect(answer).toMatchObject({ object: { category: 'network', urgent: true }, repaired: false });
  expect(api.requests[1]?.system).toContain('"enum":["hardware","network"]');
});

test.each([
  [SCHEMA, true],
  [{ ...SCHEMA, required: ['category'] }, false],
  [{ ...SCHEMA, additionalProperties: true }, false],
])('strict mode is asked for only where the schema allows it', async (schema, strict) => {
  api.setReply(() => GOOD);
  await create().generate(request({ schema }));
  await create({ provider: 'openai' }).generate(request({ schema }));
  expect(api.requests[0]?.body).toMatchObject({ response_format: { json_schema: { strict } } });
  expect(api.requests[1]?.body).toMatchObject({ text: { format: { strict } }, store: false });
});

test('a schema that cannot be compiled is refused before anything is sent', async () => {
  const schema = { type: 'object', properties: { a: { $ref: 'https://example.com/other.json' } } };
  await expect(create().generate(request({ schema }))).rejects.toMatchObject({
    kind: 'invalid_input',
    retryable: false,
  });
  expect(api.requests).toHaveLength(0);
});

describe('a failure of the API', () => {
  test.each([
    [400, 'rejected', false],
    [404, 'rejected', false],
    [422, 'rejected', false],
    [401, 'auth', false],
    [403, 'auth', false],
    [408, 'server_error', true],
    [409, 'server_error', true],
    [500, 'server_error', true],
    [529, 'server_error', true],
    [429, 'rate_limited', true],
  ])('with %i is %s and is not retried here', async (status, kind, retryable) => {
    api.setReply(() => ({ raw: { status, body: { error: { message: 'no' } } } }));
    for (const provider of ['openai_compatible', 'anthropic', 'openai'])
      await expect(create({ provider }).generate(request())).rejects.toMatchObject({
        name: 'ProviderError',
        kind,
        retryable,
      });
    expect(api.requests).toHaveLength(3);
  });

  test.each([
    [{ 'retry-after': '12' }, 12_000],
    [{ 'retry-after-ms': '250', 'retry-after': '1' }, 250],
    [{}, undefined],
  ])('429 with %j waits %s ms', async (headers, retryAfterMs) => {
    api.setReply(() => ({ raw: { status: 429, headers } }));
    const error: unknown = await create()
      .generate(request())
      .catch((caught: unknown) => caught);
    expect((error as { retryAfterMs?: number }).retryAfterMs).toBe(retryAfterMs);
  });

  test('never shows the key or the prompt', async () => {
    api.setReply(() => ({ raw: { status: 401, body: { error: { message: 'Incorrect API key: sk-test-secret' } } } }));
    const error = (await create()
      .generate(request())
      .catch((caught: unknown) => caught)) as Error;
    expect(error.message).toContain('Incorrect API key: ***');
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('VPN');
    expect(error.cause).toBeUndefined();
  });

  test('with an unreadable success can be tried again', async () => {
    api.setReply(() => ({
      raw: { status: 200, body: '<html>proxy</html>', headers: { 'content-type': 'text/html' } },
    }));
    await expect(create().generate(request())).rejects.toMatchObject({ kind: 'server_error', retryable: true });
  });

  test('by a redirect fails: the key is for the address that was set', async () => {
    const other = await startModelApi();
    api.setReply(() => ({ raw: { status: 307, headers: { location: `${other.url}/chat/completions` } } }));
    await expect(create().generate(request())).rejects.toMatchObject({ name: 'ProviderError' });
    expect(other.requests).toEqual([]);
    await other.stop();
  });

  describe('by a reply without an end', () => {
    const body = { choices: [{ message: { role: 'assistant', content: 'x'.repeat(9 * 1024 * 1024) } }] };

    test('is given up after 8 MB, and costs what an answer is expected to', async () => {
      api.setReply(() => ({ raw: { status: 200, body } }));
      const asking = create().generate(request({ maxOutputTokens: 200 }));
      await expect(asking).rejects.toMatchObject({ kind: 'invalid_output', retryable: false });
      await expect(asking).rejects.toMatchObject({ usage: { output_tokens: 200 } });
    });

    test('that tells of a failure is that failure, and costs nothing', async () => {
      api.setReply(() => ({ raw: { status: 503, body } }));
      const error: unknown = await create()
        .generate(request())
        .catch((caught: unknown) => caught);
      expect(error).toMatchObject({ kind: 'server_error', retryable: true });
      expect(error).not.toHaveProperty('usage');
    });
  });

  test('to be there is a network error', async () => {
    const ai = create();
    await api.stop();
    await expect(ai.generate(request())).rejects.toMatchObject({ kind: 'network', retryable: true });
    api = await startModelApi();
  });

  test('in the middle is a network error', async () => {
    api.setReply(() => ({ raw: { destroy: true } }));
    await expect(create().generate(request())).rejects.toMatchObject({ kind: 'network', retryable: true });
  });
});

test('an abort ends a hanging call and is rethrown as it is', async () => {
  api.setReply(() => ({ raw: { hang: true } }));
  const controller = new AbortController();
  const reason = new Error('cancelled');
  setTimeout(() => controller.abort(reason), 50);
  await expect(create().generate(request({ signal: controller.signal }))).rejects.toBe(reason);
});

test('an answer the provider withheld is rejected with its usage', async () => {
  api.setReply(() => ({ text: '', finish: 'content_filter' }));
  await expect(create().generate(request())).rejects.toMatchObject({
    kind: 'rejected',
    usage: { input_tokens: 100, output_tokens: 20 },
  });
});

test('a server that counts no tokens is charged by an estimate', async () => {
  api.setReply(() => ({
    raw: {
      body: {
        id: '1',
        model: 'm',
        choices: [{ index: 0, message: { role: 'assistant', content: 'Fine.' }, finish_reason: 'stop' }],
      },
    },
  }));
  const { usage } = await create().generate(request());
  expect(usage.input_tokens).toBeGreaterThan(5);
  expect(usage.output_tokens).toBe(2);
});

describe('configuration', () => {
  test.each([
    ['quick', { quick: '', standard: 'm', premium: '', expert: 'x' }, 'standard', 'm'],
    ['premium', { quick: 'q', standard: 'm', premium: '', expert: 'x' }, 'standard', 'm'],
    ['expert', { quick: 'q', standard: '', premium: '', expert: '' }, 'quick', 'q'],
  ] as const)('the %s tier falls to the nearest of %j', async (tier, models, used, name) => {
    const answer = await create({ models }).generate(request({ tier }));
    expect(answer.model).toEqual({ tier: used, provider: 'openai_compatible', name });
  });

  test.each<[string, Partial<AiConfig>, string]>([
    ['no model', { models: { quick: '', standard: '', premium: '', expert: '' } }, 'AI_MODEL_STANDARD'],
    ['no key', { provider: 'anthropic', apiKey: '' }, 'AI_API_KEY'],
    ['no address', { baseUrl: '' }, 'AI_BASE_URL'],
  ])('%s names the variable to set', async (_what, over, variable) => {
    const asking = create(over).generate(request());
    await expect(asking).rejects.toMatchObject({ kind: 'not_configured', retryable: false });
    await expect(asking).rejects.toThrow(variable);
  });

  test('an unknown provider is refused at start', () => {
    expect(() => create({ provider: 'skynet' })).toThrow('offline, openai, anthropic, openai_compatible');
  });

  test('an openai_compatible server needs no key', async () => {
    await create({ apiKey: '' }).generate(request());
    expect(api.requests[0]?.headers['authorization']).toBeUndefined();
  });
});

import { createAi, type AiRequest } from '../../../src/providers/ai';
import { startModelApi, type ModelApi, type ModelReply } from '../../support/stand-ins/model-api';

let api: ModelApi;

const SCHEMA = { type: 'object', properties: { urgent: { type: 'boolean' } }, required: ['urgent'] };

async function ask(reply: ModelReply, over: Partial<AiRequest> = {}, provider = 'openai_compatible') {
  api.setReply(() => reply);
  const models = { quick: 'small-1', standard: '', premium: '', expert: '' };
  const ai = createAi({ provider, apiKey: 'sk-test-secret', baseUrl: api.url, models });
  const signal = new AbortController().signal;
  return ai.generate({ tier: 'quick', system: 'Be brief.', prompt: 'The VPN is down.', signal, ...over });
}

/** A chat completion whose message is like this. */
const message = (said: object, usage: object = {}): ModelReply => ({
  raw: {
    body: {
      choices: [{ index: 0, message: { role: 'assistant', ...said }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 100, completion_tokens: 20, ...usage },
    },
  },
});

beforeAll(async () => {
  api = await startModelApi();
});
beforeEach(() => {
  api.requests.length = 0;
});
afterAll(() => api.stop());

describe('thoughts that a server leaves in the text', () => {
  test.each([
    ['<think>They want a discount.</think>\n\nThe VPN is down.'],
    ['\n<thinking>\nFirst\n\nsecond\n</thinking>The VPN is down.'],
  ])('are no part of the answer: %j', async (text) => {
    expect(await ask({ text })).toMatchObject({ text: 'The VPN is down.', repaired: false });
  });

  test('do not hide an object, which is asked for once', async () => {
    const text = '<think>maybe {"urgent": false}?</think>\n{"urgent": true}';
    expect(await ask({ text }, { schema: SCHEMA })).toMatchObject({ object: { urgent: true } });
    expect(api.requests).toHaveLength(1);
  });

  test('that have no end are no answer', async () => {
    const asking = ask({ text: '<think>Hm, the client', finish: 'length' });
    await expect(asking).rejects.toMatchObject({ kind: 'invalid_output' });
  });

  test('stay where they are what the answer is about', async () => {
    const text = 'The tag <think> opens, </think> closes.';
    expect(await ask({ text })).toMatchObject({ text });
  });
});

test.each([undefined, SCHEMA])(
  'a refusal that stands beside the text is one, asked for once (schema: %j)',
  async (schema) => {
    const reply = message({ content: null, refusal: 'I cannot help with that.' });
    await expect(ask(reply, schema ? { schema } : {})).rejects.toMatchObject({
      kind: 'rejected',
      usage: { input_tokens: 100, output_tokens: 20 },
    });
    expect(api.requests).toHaveLength(1);
  },
);

describe.each(['openai_compatible', 'openai', 'anthropic'])('%s', (provider) => {
  test('a text that the limit cut off says so', async () => {
    const cut = await ask({ text: 'Dear client, we', finish: 'length' }, {}, provider);
    expect(cut).toMatchObject({ text: 'Dear client, we', truncated: true });
    expect(await ask({ text: 'Dear client.' }, {}, provider)).not.toHaveProperty('truncated');
  });

  test.each([
    ['stop', 'no text'],
    ['length', 'max_output_tokens'],
  ] as const)('blanks that end with %s are no text', async (finish, said) => {
    const asking = ask({ text: '  \n', finish }, {}, provider);
    await expect(asking).rejects.toMatchObject({ kind: 'invalid_output', usage: { input_tokens: 100 } });
    await expect(asking).rejects.toThrow(said);
  });
});

test.each([
  ['less than nothing', { prompt_tokens: -5, completion_tokens: -1 }],
  ['parts of a token', { prompt_tokens: 0.5, completion_tokens: 1.5 }],
  ['more than any model takes', { prompt_tokens: 1e12, completion_tokens: 1e12 }],
])('a server that counts %s is believed as little as one that counts nothing', async (_what, usage) => {
  const { usage: counted } = await ask(message({ content: 'It is the VPN.' }, usage));
  expect(counted.output_tokens).toBe(4);
  expect(counted.input_tokens).toBeGreaterThan(10);
  expect(counted.input_tokens).toBeLessThan(100);
});

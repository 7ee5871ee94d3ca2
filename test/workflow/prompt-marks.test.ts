/** What came from outside stands between marks in a prompt; from outside nobody can tell their name. */
import { hash } from 'node:crypto';
import { activeAgent, definitionWith, REASON, run } from '../support/agents';
import { joinStack, waitForExecution, type Harness } from '../support/harness';
import { startOwn } from '../support/stack';
import { startModelApi, type ModelApi } from '../support/stand-ins/model-api';

let harness: Harness;
let product: Awaited<ReturnType<typeof startOwn>>;
let model: ModelApi;

beforeAll(async () => {
  const shared = joinStack();
  model = await startModelApi();
  product = await startOwn(shared.address, 'marks', {
    AI_PROVIDER: 'openai_compatible',
    AI_BASE_URL: model.url,
    AI_API_KEY: 'test',
    AI_MODEL_QUICK: 'small',
  });
  await shared.close();
  harness = joinStack(product);
}, 120_000);
afterAll(async () => {
  await harness.close();
  await product.stop();
  await model.stop();
});

test('the marks cannot be worked out from what is known of an execution', async () => {
  const org = await harness.newOrg();
  await activeAgent(org, definitionWith([REASON]));
  const id = await run(org);
  await waitForExecution(org, id, ['completed']);
  const prompt = model.requests.at(-1)?.messages.at(-1)?.text ?? '';
  const name = /<data-([0-9a-f]+) source=/.exec(prompt)?.[1] ?? '';
  expect(name).toHaveLength(24);
  expect(hash('sha256', `${id}:0`, 'hex')).not.toContain(name);
});

/** One stack for every suite that only uses the product; its address travels to the test files in the environment. */
import build from './global-build';
import { startStack, type Stack, type StackAddress } from './stack';

export const STACK_VARIABLE = 'SIGNALBOX_TEST_STACK';

const holder = globalThis as { signalboxStack?: Stack };

/** Jest's global setup. */
export default async function start(): Promise<void> {
  build();
  const stack = await startStack();
  holder.signalboxStack = stack;
  const address: StackAddress = { baseUrl: stack.baseUrl, inboxUrl: stack.inboxUrl, env: stack.env };
  process.env[STACK_VARIABLE] = JSON.stringify(address);
}

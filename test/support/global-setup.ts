/** One stack for every suite that only uses the product; its address travels to the test files in the environment. */
import { STACK_VARIABLE, type StackAddress } from './shared-stack';
import { startStack, type Stack } from './stack';

const holder = globalThis as { signalboxStack?: Stack };

/** Jest's global setup. */
export default async function start(): Promise<void> {
  const stack = await startStack();
  holder.signalboxStack = stack;
  const address: StackAddress = { baseUrl: stack.baseUrl, inboxUrl: stack.inboxUrl, env: stack.env };
  process.env[STACK_VARIABLE] = JSON.stringify(address);
}

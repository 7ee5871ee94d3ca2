/** How test files find the stack they share. Apart from what starts it, which is much to load for every file. */

export const STACK_VARIABLE = 'SIGNALBOX_TEST_STACK';

/** What another process needs to work with a running stack. */
export interface StackAddress {
  baseUrl: string;
  inboxUrl: string;
  env: Record<string, string>;
}

/** Workflows for a worker that must cope with one that never yields. */

/** Never comes back. */
export async function endless(): Promise<never> {
  for (;;);
}

/** Comes back at once. */
export async function quick(): Promise<string> {
  return 'done';
}

/** Work to be done, without waiting, when this process exits for whatever reason. */

const hooks = new Set<() => void>();
let isInstalled = false;

/** Registers a hook and returns the function that takes it back. */
export function onExit(hook: () => void): () => void {
  if (!isInstalled) {
    isInstalled = true;
    process.once('exit', () => {
      for (const run of hooks) run();
    });
  }
  hooks.add(hook);
  return () => {
    hooks.delete(hook);
  };
}

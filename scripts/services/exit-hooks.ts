/** Work to be done when this process exits for whatever reason, and when it is asked to. */

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

/** Calls `handle` for every wish that this process end: a signal, or the end of the process that started it. */
export function onStopAsked(handle: () => void): void {
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, handle);
  // That one is gone, maybe before we could listen: nobody could stop us any more.
  if (process.channel) process.on('disconnect', handle);
  else if ('connected' in process && !process.connected) handle();
}

/**
 * Calls `handle` when nobody reads our lines any more, as when the terminal is gone or Ctrl-C has ended a `tee` behind
 * us: unheard, that would end this process at once.
 */
export function onUnread(handle: () => void): void {
  for (const output of [process.stdout, process.stderr]) output.on('error', handle);
}

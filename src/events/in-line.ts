/** Work on one thing, one at a time: who comes while it is done shares the one turn that follows. */

interface Line {
  running: Promise<void>;
  /** The turn that has not begun yet; it sees everything that was written before now. */
  next: Promise<void> | null;
}

const lines = new Map<string, Line>();

const settled = (): undefined => undefined;

async function turn(key: string, line: Line, work: () => Promise<void>): Promise<void> {
  line.running = work();
  try {
    await line.running;
  } finally {
    if (!line.next) lines.delete(key);
  }
}

/** Runs `work` for `key` when nobody else does; resolves when a run that began after this call has ended. */
export function inLine(key: string, work: () => Promise<void>): Promise<void> {
  const line = lines.get(key);
  if (!line) {
    const made: Line = { running: Promise.resolve(), next: null };
    lines.set(key, made);
    return turn(key, made, work);
  }
  line.next ??= line.running.then(settled, settled).then(() => {
    line.next = null;
    return turn(key, line, work);
  });
  return line.next;
}

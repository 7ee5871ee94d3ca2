/**
 * A watch over the thread that everything of a worker runs on, workflows among it. One that no longer yields answers
 * nobody: no task, no question after its health, no signal to stop.
 */
import { url as debuggerUrl } from 'node:inspector';
import { Worker as Thread } from 'node:worker_threads';

const LOOK_MS = 1_000;
/** After ten seconds the engine gives a workflow's task to somebody else. Looks are counted: a machine may stand still. */
const LOOKS_MAX = 10;

/** What the watched thread tells the one that watches, in memory of both. */
interface Board {
  pulse: Int32Array;
  /** 1 when a debugger may hold it. */
  debugged: Int32Array;
  /** The workflow it is at; no bytes when it is at none. */
  idLength: Int32Array;
  id: Buffer;
}

const MARKS_BYTES = 12;
/** Longer than the ids of this product. */
const ID_BYTES = 256;

const boardIn = (memory: SharedArrayBuffer): Board => ({
  pulse: new Int32Array(memory, 0, 1),
  debugged: new Int32Array(memory, 4, 1),
  idLength: new Int32Array(memory, 8, 1),
  id: Buffer.from(memory, MARKS_BYTES),
});

/** Looks at the pulse each time it is called, and tells once when it has stood still for ten looks. */
export function createLook(pulse: () => number, onStandstill: () => void): () => void {
  let seen = pulse();
  let looks = 0;
  return () => {
    const now = pulse();
    looks = now === seen ? looks + 1 : 0;
    seen = now;
    if (looks === LOOKS_MAX) onStandstill();
  };
}

/** In the thread that watches: `onStandstill` gets the id of the workflow that the other thread is at, if it is at one. */
export function watchOver(memory: SharedArrayBuffer, onStandstill: (workflowId: string | null) => void): void {
  const { pulse, debugged, idLength, id } = boardIn(memory);
  const look = createLook(
    () => Atomics.load(pulse, 0),
    () => {
      if (Atomics.load(debugged, 0) === 1) return;
      const length = Atomics.load(idLength, 0);
      onStandstill(length === 0 ? null : id.toString('utf8', 0, length));
    },
  );
  setInterval(look, LOOK_MS);
}

/** The watched thread's side of it. */
export interface Watch {
  /** Calls into the workflow of that id; what it leaves to later turns of the event loop is not the workflow's. */
  during<T>(workflowId: string, call: () => T): T;
  stop(): Promise<void>;
}

/** Starts to watch the calling thread. */
export function startWatch(logLevel: string): Watch {
  const memory = new SharedArrayBuffer(MARKS_BYTES + ID_BYTES);
  const { pulse, debugged, idLength, id } = boardIn(memory);
  const beat = (): void => {
    Atomics.add(pulse, 0, 1);
    // One may come at any time.
    Atomics.store(debugged, 0, debuggerUrl() ? 1 : 0);
  };
  beat();
  const timer = setInterval(beat, LOOK_MS).unref();
  const thread = new Thread(require.resolve('./watch-thread'), { workerData: { memory, logLevel } });
  thread.unref();
  return {
    during(workflowId, call) {
      Atomics.store(idLength, 0, id.write(workflowId, 'utf8'));
      try {
        return call();
      } finally {
        Atomics.store(idLength, 0, 0);
      }
    },
    async stop() {
      clearInterval(timer);
      await thread.terminate();
    },
  };
}

/** Keeps long steps from being silent: one combined line with the elapsed time for everything under way. */
import type { Log } from './types';

// Leaves half a second for work that cannot be interrupted, such as loading modules.
const HEARTBEAT_MS = 1_500;

export type Report = (detail: string) => void;

interface Task {
  label: string;
  startedAt: number;
  detail: string;
}

const secondsSince = (startedAt: number): number => Math.round((Date.now() - startedAt) / 1_000);

/** One per start: engine and store report into the same one, so that their lines do not fight. */
export class Progress {
  readonly #log: Log;
  readonly #tasks = new Set<Task>();
  #timer: NodeJS.Timeout | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Runs `work`; while it runs longer than a heartbeat, its latest report is printed every heartbeat. */
  async track<T>(label: string, work: (report: Report) => Promise<T>): Promise<T> {
    const task: Task = { label, startedAt: Date.now(), detail: '' };
    this.#tasks.add(task);
    this.#timer ??= setInterval(() => this.#beat(), HEARTBEAT_MS);
    try {
      const result = await work((detail) => {
        task.detail = detail;
      });
      if (Date.now() - task.startedAt > HEARTBEAT_MS) this.#log(`${label}: done in ${secondsSince(task.startedAt)} s`);
      return result;
    } finally {
      this.#tasks.delete(task);
      if (this.#tasks.size === 0) {
        clearInterval(this.#timer);
        this.#timer = undefined;
      }
    }
  }

  #beat(): void {
    const parts = [...this.#tasks].map((task) => {
      const detail = task.detail ? `, ${task.detail}` : '';
      return `${task.label} (${secondsSince(task.startedAt)} s${detail})`;
    });
    this.#log(`… ${parts.join(' | ')}`);
  }
}

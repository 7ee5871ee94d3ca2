/** A lock file held by one live process; the lock of a dead one is taken over. */
import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { identify, isSame, type ProcessIdentity, waitFor } from './processes';

const WAIT_MS_MAX = 30 * 60_000;
const POLL_MS = 200;
const TAKEOVER_MS_MAX = 10_000;

interface Holder extends ProcessIdentity {
  token: string;
}

export interface Lock {
  release(): void;
}

/** The live process that holds the lock, if any. */
export function lockHolder(path: string): ProcessIdentity | undefined {
  const holder = readHolder(path);
  return holder && isSame(holder) ? holder : undefined;
}

const NOBODY: Holder = { pid: 0, started: '', token: '' };

/** Who the lock names: nobody alive when it is damaged; undefined when there is no lock. */
function readHolder(path: string): Holder | undefined {
  try {
    return (JSON.parse(readFileSync(path, 'utf8')) as Holder | null) ?? NOBODY;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : NOBODY;
  }
}

const isTaken = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'EEXIST';

/** What a process that died in the middle left behind; nobody needs it for this long. */
function removeOld(path: string): void {
  const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
  if (age > TAKEOVER_MS_MAX) rmSync(path, { recursive: true, force: true });
}

/** Where there are no links, as on memory sticks and some shared folders: a folder is made by one alone, too. */
function createInTurn(path: string, draft: string): boolean {
  const turn = `${path}.turn`;
  try {
    mkdirSync(turn);
  } catch (error) {
    if (!isTaken(error)) throw error;
    removeOld(turn);
    return false;
  }
  try {
    if (existsSync(path)) return false;
    renameSync(draft, path);
    return true;
  } finally {
    rmSync(turn, { recursive: true, force: true });
  }
}

/** True when the link was made, false when its place is taken; undefined where none can be made. */
function link(draft: string, path: string): boolean | undefined {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    return isTaken(error) ? false : undefined;
  }
}

// A link, as a new name, appears whole or not at all, so nobody ever reads a half-written lock.
function create(path: string, holder: Holder): boolean {
  const draft = `${path}.${holder.token}`;
  try {
    writeFileSync(draft, JSON.stringify(holder));
    return link(draft, path) ?? createInTurn(path, draft);
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * Removes the lock of a dead process. Guarded by a second lock: without it, two waiters could both see the dead
 * holder and the slower one would remove the lock the faster one has just created. For the same reason a lock that
 * is not there is left alone.
 */
function clearDead(path: string, self: Holder): void {
  const guard = `${path}.takeover`;
  if (!create(guard, self)) return removeOld(guard);
  try {
    const holder = readHolder(path);
    if (holder && !isSame(holder)) rmSync(path, { force: true });
  } finally {
    rmSync(guard, { force: true });
  }
}

/** The lock when it can be had at once; undefined while a live process holds it. */
export function tryLock(path: string): Lock | undefined {
  const self: Holder = { ...identify(process.pid), token: randomUUID() };
  if (!create(path, self)) {
    if (lockHolder(path)) return undefined;
    clearDead(path, self);
    if (!create(path, self)) return undefined;
  }
  return {
    release() {
      if (readHolder(path)?.token === self.token) rmSync(path, { force: true });
    },
  };
}

/** Runs `work` under the lock; `onWait` hears who holds it while waiting. */
export async function withLock<T>(path: string, onWait: (pid: number) => void, work: () => Promise<T>): Promise<T> {
  let lock: Lock | undefined;
  const isHeld = await waitFor(
    () => {
      lock = tryLock(path);
      if (!lock) onWait(lockHolder(path)?.pid ?? 0);
      return lock !== undefined;
    },
    { timeoutMs: WAIT_MS_MAX, intervalMs: POLL_MS },
  );
  if (!isHeld || !lock) throw new Error(`${path} is still held by process ${lockHolder(path)?.pid ?? 'unknown'}`);
  try {
    return await work();
  } finally {
    lock.release();
  }
}

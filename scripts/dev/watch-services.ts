/** Starts engine and store again when one of their processes dies by itself. */
import type { Log, Service, Services } from '../services';

const CHECK_MS = 1_000;

async function revive(service: Service, print: Log): Promise<void> {
  const before = service.pids()[0];
  // Does nothing while all of its processes live.
  await service.start();
  if (service.pids()[0] !== before) print(`${service.name}: ended by itself, started again with the same data`);
}

/** Watches until the returned function is called, which waits for a restart under way. */
export function watchServices({ engine, store }: Services, print: Log): () => Promise<void> {
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> = Promise.resolve();
  const check = async () => {
    for (const service of [engine, store]) {
      if (isStopped) return;
      await revive(service, print).catch((error: unknown) => print(`${service.name}: ${String(error)}`));
    }
    if (!isStopped) timer = setTimeout(next, CHECK_MS);
  };
  const next = () => {
    round = check();
  };
  timer = setTimeout(next, CHECK_MS);
  return async () => {
    isStopped = true;
    clearTimeout(timer);
    await round;
  };
}

/**
 * The product's API with one part exchanged: limits are counted in this process instead of in the store, as they would
 * be under a lease. It shows what all the rest of a request costs. Runs in a process of its own.
 */
import { createServer } from 'node:http';
import { emissionInterval, TIER_RATES } from '../../src/domain/rate-limit';
import { createGuard } from '../../src/http/admission';
import { createApp } from '../../src/http/app';
import type { Meter } from '../../src/http/auth-meter';
import { createContext, type ProcessContext } from '../../src/process';
import { takeFromGuard, type Charge, type Reading } from '../../src/store/guards';
import { answerQuestions } from './child';

/** Both policies, counted as the store counts them. The first reading of a tenant is the store's, for its epoch. */
function createLocalMeter(context: ProcessContext): Meter {
  const readings = new Map<string, Reading>();
  const arrivals = new Map<string, number>();

  async function readingOf(charge: Charge): Promise<Reading> {
    const known = readings.get(charge.orgId) ?? (await takeFromGuard(context.store, charge));
    readings.set(charge.orgId, known);
    return known;
  }

  function charged(charge: Charge, known: Reading): Reading {
    const atMs = context.clock.now().getTime();
    const used = { ...known, atMs, outcome: 'refused' as const };
    if (!charge.key || known[charge.window] >= charge.limit) return used;
    const interval = emissionInterval(charge.key.tier);
    const tatMs = Math.max(arrivals.get(charge.key.id) ?? 0, atMs) + interval;
    if (tatMs - atMs > TIER_RATES[charge.key.tier].burst * interval) return used;
    arrivals.set(charge.key.id, tatMs);
    return { ...used, tatMs, [charge.window]: known[charge.window] + 1, outcome: 'charged' };
  }

  return {
    async take(charge) {
      const reading = charged(charge, await readingOf(charge));
      readings.set(charge.orgId, reading);
      return { reading, isRemembered: false };
    },
    isRefusing: () => false,
    read: readingOf,
    giveBack: () => undefined,
    flush: () => Promise.resolve(),
  };
}

function main(): void {
  const context = createContext();
  const guard = createGuard(context, createLocalMeter(context));
  const isTrue = (): Promise<boolean> => Promise.resolve(true);
  const server = createServer(createApp(context, guard, { store: isTrue, engine: isTrue }));
  answerQuestions(() => Promise.resolve(null));
  process.once('SIGTERM', () => process.exit(0));
  const { host, port } = context.config;
  server.listen(port, host, () => context.log.info('uncounted ready', { port, pid: process.pid }));
}

main();

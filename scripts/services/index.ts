/** Brings up the engine and the store on one machine, without Docker and, when it must be, without the internet. */
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { removeCluster } from './clusters';
import { findEngine } from './engine';
import { endLeftovers, isAbandoned } from './records';
import { createSetup } from './setup';
import { findStore } from './store';
import type { Found, ServiceOptions, Services } from './types';

export type { Environment, Log, Service, ServiceOptions, Services } from './types';

async function startFound<Addresses>(finding: Promise<Found<Addresses>>): Promise<Found<Addresses>> {
  const found = await finding;
  await found.service.start();
  return found;
}

/** Starts both in parallel. When one cannot be had, the other is stopped again and the error says what to do. */
export async function startServices(options: ServiceOptions): Promise<Services> {
  const setup = createSetup(options);
  mkdirSync(setup.dataDir, { recursive: true });
  await endLeftovers(setup.dataDir, setup.log);
  const [engine, store] = await Promise.allSettled([startFound(findEngine(setup)), startFound(findStore(setup))]);
  if (engine.status === 'rejected' || store.status === 'rejected') {
    const reasons: unknown[] = [];
    for (const result of [engine, store]) {
      if (result.status === 'fulfilled') await result.value.service.stop();
      else reasons.push(result.reason);
    }
    // Both fail alike where the cache is of no use.
    const texts = [...new Set(reasons.map((reason) => (reason instanceof Error ? reason.message : String(reason))))];
    throw texts.length === 1 ? reasons[0] : new AggregateError(reasons, texts.join('\n\n'));
  }
  const services = { engine: engine.value.service, store: store.value.service };
  return {
    ...services,
    ...engine.value.addresses,
    ...store.value.addresses,
    async stop() {
      await Promise.all([services.engine.stop(), services.store.stop()]);
    },
  };
}

/** Deletes a data folder and what belongs to it elsewhere; processes a crash left on it are ended first. */
export async function removeServiceData(dataDir: string): Promise<void> {
  await endLeftovers(dataDir, () => {});
  await removeCluster(dataDir);
  rmSync(dataDir, { recursive: true, force: true });
}

/** Deletes the folders of throw-away data, named `prefix…` below `parent`, whose runs were killed before they could. */
export async function removeAbandoned(parent: string, prefix: string): Promise<void> {
  for (const name of readdirSync(parent).filter((entry) => entry.startsWith(prefix))) {
    const dataDir = join(parent, name, 'data');
    // Where everybody may write, what a folder says is believed only when it is our own.
    const { uid } = statSync(join(parent, name), { throwIfNoEntry: false }) ?? {};
    if (uid !== process.getuid?.() || !isAbandoned(dataDir)) continue;
    await removeServiceData(dataDir);
    rmSync(join(parent, name), { recursive: true, force: true });
  }
}

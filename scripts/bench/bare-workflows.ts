/** The shapes of our executions with nothing in them: what the engine alone costs. */
import { condition, defineSignal, proxyActivities, proxyLocalActivities, setHandler } from '@temporalio/workflow';
import type { BareCalls } from './bare-calls';

interface BareActivities {
  nothing(): Promise<void>;
}

const STEPS = 3;
const local = proxyLocalActivities<BareActivities>({ startToCloseTimeout: '10s' });
// As long as the product's heartbeats: the engine comes back to every activity when its first limit is over, and by then
// nobody must be at play.
const remote = proxyActivities<BareActivities & BareCalls>({ startToCloseTimeout: '10s' });
const go = defineSignal('go');

/** Like three light steps. */
export async function light(): Promise<void> {
  for (let step = 0; step < STEPS; step += 1) await local.nothing();
}

/** Like three steps that touch the outside. */
export async function outside(): Promise<void> {
  for (let step = 0; step < STEPS; step += 1) await remote.nothing();
}

/** Like three steps that touch the outside, with what they touch. */
export async function calling(): Promise<void> {
  await remote.ask();
  await remote.mail();
  await remote.call();
}

/** Like a gate: waits for its signal, then ends. */
export async function gated(): Promise<void> {
  let isOpen = false;
  setHandler(go, () => {
    isOpen = true;
  });
  await condition(() => isOpen);
}

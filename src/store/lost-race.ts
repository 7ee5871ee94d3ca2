/** What a writer does who lost a race: it waits a moment, so that writers who met once do not meet again. */
import { setTimeout } from 'node:timers/promises';
import { randomFraction } from '../domain/ids';

/** The longest pause after the first lost race; each further one is twice as long, up to the last. */
const PAUSE_MS = 4;
const DOUBLINGS_MAX = 7;

/** Pauses after the race number `lost`, 0 for the first. */
export const pauseApart = (lost: number): Promise<void> =>
  setTimeout(randomFraction() * PAUSE_MS * 2 ** Math.min(lost, DOUBLINGS_MAX));

/** Bounds that a JSON schema cannot express: lengths of time, depth and number of steps. */
import type { Step } from '../../contracts/step';
import { durationMs, formatDuration } from '../durations';
import { below, type Findings } from './findings';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const STEPS_MAX = 100;
export const BRANCH_DEPTH_MAX = 3;

interface Bounds {
  least: number;
  most: number;
}

const SECOND = 1_000;
const GATE: Bounds = { least: 5 * MINUTE, most: 30 * DAY };
const DELAY: Bounds = { least: SECOND, most: 30 * DAY };
const TIMEOUT: Bounds = { least: SECOND, most: HOUR };
const RETRY_WAIT: Bounds = { least: SECOND, most: DAY };

function checkDuration(duration: string | undefined, pointer: string, bounds: Bounds, findings: Findings): void {
  if (duration === undefined) return;
  const ms = durationMs(duration);
  if (ms >= bounds.least && ms <= bounds.most) return;
  const range = `${formatDuration(bounds.least)} and ${formatDuration(bounds.most)}`;
  findings.add({ path: pointer, code: 'out_of_range', message: `${duration} is not between ${range}.` });
}

function checkRetryWaits(retry: Step['retry'], pointer: string, findings: Findings): void {
  if (!retry?.initial || !retry.max || durationMs(retry.max) >= durationMs(retry.initial)) return;
  const message = `${retry.max} is less than the first wait, ${retry.initial}; leave it out, or name at least that.`;
  findings.add({ path: below(pointer, 'retry', 'max'), code: 'out_of_range', message });
}

/** Checks every length of time a step names. */
export function checkDurations(step: Step, pointer: string, findings: Findings): void {
  checkDuration(step.timeout, below(pointer, 'timeout'), TIMEOUT, findings);
  checkDuration(step.retry?.initial, below(pointer, 'retry', 'initial'), RETRY_WAIT, findings);
  checkDuration(step.retry?.max, below(pointer, 'retry', 'max'), RETRY_WAIT, findings);
  checkRetryWaits(step.retry, pointer, findings);
  if (step.type === 'approval_gate') checkDuration(step.expires_in, below(pointer, 'expires_in'), GATE, findings);
  if (step.type === 'delay') checkDuration(step.for, below(pointer, 'for'), DELAY, findings);
}

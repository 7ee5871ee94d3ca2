/** Which attempt at a step this is. The engine counts them all; those that only waited for our own records are left out here. */
import { activityInfo, heartbeat } from '@temporalio/activity';
import type { Tried } from '../src/contracts/messages';

/** What one attempt leaves the next, which may be another worker's. */
interface Beat extends Tried {
  /** How many of the engine's attempts are none of the step's. */
  uncounted: number;
}

/** An operator who resets an activity has its attempts counted from one again; the first of all begins when it is scheduled. */
export const isAttemptFirst = (): boolean => {
  const { attempt, scheduledTimestampMs, currentAttemptScheduledTimestampMs } = activityInfo();
  return attempt === 1 && currentAttemptScheduledTimestampMs === scheduledTimestampMs;
};

const lastBeat = (): Partial<Beat> | undefined => activityInfo().heartbeatDetails as Partial<Beat> | undefined;

function currentBeat(): Beat {
  const { attempt } = activityInfo();
  // What came before a reset is no part of the count.
  const uncounted = attempt === 1 ? 0 : (lastBeat()?.uncounted ?? 0);
  return { attempts: attempt - uncounted, uncounted };
}

/** The number of this attempt among those that the step's limit is about, from one. */
export const attemptNumber = (): number => currentBeat().attempts;

/** Tells the engine that the attempt is alive. */
export const beat = (): void => heartbeat(currentBeat());

/** Begins to count anew where an operator has, so that nothing of before is left to the next attempt. */
export function beginCount(): void {
  if (activityInfo().attempt === 1 && lastBeat() !== undefined) beat();
}

/** Leaves this attempt out of the count. It has to fail next: the engine takes what it was last told along with the failure. */
export function leaveOut(): void {
  const { attempts, uncounted } = currentBeat();
  heartbeat({ attempts, uncounted: uncounted + 1 });
}

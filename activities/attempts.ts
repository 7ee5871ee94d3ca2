/** Which attempt at a step this is. The engine counts them all; those that only waited for our own records are left out here. */
import { activityInfo, heartbeat, type Info } from '@temporalio/activity';
import type { Tried } from '../src/contracts/messages';

/** What one attempt leaves the next, which may be another worker's. */
interface Beat extends Tried {
  /** How many of the engine's attempts are none of the step's. */
  uncounted: number;
}

const isFirst = ({ attempt }: Info): boolean => attempt === 1;

/** An operator who resets an activity has its attempts counted from one again. */
function uncountedIn(info: Info): number {
  const { uncounted = 0 } = (info.heartbeatDetails ?? {}) as Partial<Beat>;
  return isFirst(info) ? 0 : uncounted;
}

function beatOf(info: Info): Beat {
  const uncounted = uncountedIn(info);
  return { attempts: info.attempt - uncounted, uncounted };
}

/** The number of this attempt among those that the step's limit is about, from one. */
export const attemptNumber = (): number => beatOf(activityInfo()).attempts;

/** Tells the engine that the attempt is alive. */
export const beat = (): void => heartbeat(beatOf(activityInfo()));

/** Begins to count anew where an operator has, so that nothing of before is left to the next attempt. */
export function beginCount(): void {
  const info = activityInfo();
  if (isFirst(info) && info.heartbeatDetails !== undefined) beat();
}

/** Leaves this attempt out of the count. It has to fail next: the engine takes what it was last told along with the failure. */
export function leaveOut(): void {
  const { attempts, uncounted } = beatOf(activityInfo());
  heartbeat({ attempts, uncounted: uncounted + 1 });
}

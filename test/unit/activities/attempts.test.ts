import { asyncLocalStorage, type Context, type Info } from '@temporalio/activity';
import { attemptNumber, beat, beginCount, leaveOut } from '../../../activities/attempts';

/** An activity that is tried again and again, as the engine keeps it: what was told last is there in the next attempt. */
function triedActivity() {
  const kept: { details?: unknown } = {};
  let engineAttempt = 0;
  return {
    kept,
    /** An operator resets it: attempts begin at one, what was told stays. */
    reset(): void {
      engineAttempt = 0;
    },
    /** One attempt; answers which one it was by the step's count. */
    attempt(work: () => void = () => undefined): number {
      engineAttempt += 1;
      const info = { attempt: engineAttempt, heartbeatDetails: kept.details } as Info;
      const heartbeat = (details: unknown): void => void (kept.details = details);
      return asyncLocalStorage.run({ info, heartbeat } as Context, () => {
        beginCount();
        const number = attemptNumber();
        work();
        return number;
      });
    },
  };
}

test('those that are left out are no attempts, wherever they stand', () => {
  const activity = triedActivity();
  const numbers = [leaveOut, leaveOut, beat, undefined, leaveOut, undefined, beat].map((work) =>
    activity.attempt(work),
  );
  expect(numbers).toEqual([1, 1, 1, 2, 3, 3, 4]);
});

test('what is told while one runs names its own number', () => {
  const activity = triedActivity();
  activity.attempt(leaveOut);
  activity.attempt(beat);
  expect(activity.kept.details).toMatchObject({ attempts: 1 });
  activity.attempt(beat);
  expect(activity.kept.details).toMatchObject({ attempts: 2 });
});

test('a reset begins anew, also for the attempts after its first', () => {
  const activity = triedActivity();
  for (const work of [leaveOut, leaveOut, undefined]) activity.attempt(work);
  activity.reset();
  expect([activity.attempt(), activity.attempt(), activity.attempt(leaveOut), activity.attempt()]).toEqual([
    1, 2, 3, 3,
  ]);
});

test('an attempt of a worker that left none out is counted as the engine does', () => {
  const activity = triedActivity();
  activity.kept.details = { attempts: 1 };
  expect([activity.attempt(), activity.attempt()]).toEqual([1, 2]);
});

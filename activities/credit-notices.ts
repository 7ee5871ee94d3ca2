/** Says when most of an org's credits of the month are used, and when all of them are: once each, as an event. */
import { heartbeat } from '@temporalio/activity';
import { monthOf, thresholdsPast } from '../src/domain/credits';
import { thresholdReport } from '../src/domain/webhooks/reports';
import { publish } from '../src/events/publish';
import { markTold, usedAccounts, type UsedAccount } from '../src/store/credits';
import type { Deps } from './deps';

async function tell(deps: Deps, account: UsedAccount): Promise<void> {
  for (const percent of thresholdsPast(account)) {
    heartbeat();
    // The same event however often it is said: whoever dies before it is noted says it again.
    await publish(deps, thresholdReport(account, percent));
    await markTold(deps.store, account, percent);
  }
}

/** Of the month that it is; what could not be said now is said with the next pass. */
export async function announceThresholds(deps: Deps): Promise<void> {
  for (const account of await usedAccounts(deps.store, monthOf(deps.clock.now()))) {
    await tell(deps, account).catch((error: unknown) =>
      deps.log.warn('threshold of credits deferred', { account: account._id, error }),
    );
  }
}

/** Every activity, bound to the process's dependencies. The worker registers exactly these. */
import type { Activities } from '../src/contracts/activities';
import { openApproval, settleApproval } from './approvals';
import { recordByHand } from './by-hand';
import type { Deps } from './deps';
import { beginExecution, finishExecution, recordFailure, recordProgress } from './executions';
import { httpRequest } from './http';
import { setVariables } from './light';
import { notification } from './notify';
import { aiReason } from './reason';
import { sweepOnce } from './sweep';
import { emitTimed } from './timed';
import { attemptDelivery } from './webhooks';

/** Builds the activities of a worker. */
export const createActivities = (deps: Deps): Activities => ({
  beginExecution: (input) => beginExecution(deps, input),
  aiReason: (input) => aiReason(deps, input),
  notification: (input) => notification(deps, input),
  httpRequest: (input) => httpRequest(deps, input),
  setVariables: (input) => setVariables(deps, input),
  recordByHand: (input) => recordByHand(deps, input),
  recordProgress: (input) => recordProgress(deps, input),
  openApproval: (input) => openApproval(deps, input),
  settleApproval: (input) => settleApproval(deps, input),
  recordFailure: (input) => recordFailure(deps, input),
  finishExecution: (input) => finishExecution(deps, input),
  attemptDelivery: (input) => attemptDelivery(deps, input),
  sweepOnce: () => sweepOnce(deps),
  emitTimed: (product) => emitTimed(deps, product),
});

/** Stops an agent whose runs keep failing, and tells the owners of the org. */
import { faultOf, stopOf } from '../src/domain/agent-breaker';
import { stoppedReport } from '../src/domain/webhooks/reports';
import { publish } from '../src/events/publish';
import {
  agentNoticesDue,
  changeAgent,
  dropAgentNotice,
  findAgent,
  noteAgentTold,
  settleSlot,
  takeAgentNotice,
  type AgentRecord,
} from '../src/store/agents';
import { auditStopped } from '../src/store/audit-trail';
import { endedRuns } from '../src/store/executions';
import type { Deps } from './deps';
import { mailOwners, tellInTurn } from './owner-mail';

const RUNS_MAX = 200;
const BATCH = 50;
/** Longer than it takes to tell all owners. */
const TAKEN_MS = 120_000;

/** Writes it into the trail and tells webhooks. Both know what they were told before, so it can be repeated. */
async function announce(deps: Deps, stopped: AgentRecord): Promise<void> {
  await auditStopped(deps, stopped);
  await publish(deps, stoppedReport(stopped));
}

/**
 * Judges an agent by the runs since its last change, so that whoever mends or resumes it gives it a new chance. Two that
 * judge at once stop it once; one that dies before it has judged leaves it to the next run that fails.
 */
export async function judgeAgent(
  deps: Deps,
  { org_id: orgId, agent_id: agentId }: { org_id: string; agent_id: string },
): Promise<void> {
  const agent = await findAgent(deps.store, orgId, agentId);
  if (agent?.status !== 'active') return;
  const now = deps.clock.now();
  const fault = faultOf(await endedRuns(deps.store, { orgId, agentId, since: agent.updated_at }, RUNS_MAX), now);
  if (!fault) return;
  const { code, message, since, executionIds } = fault;
  const stopped = await changeAgent(
    deps.store,
    { orgId, id: agentId, version: agent.version },
    {
      status: 'error',
      error_info: { code, message, since, execution_ids: executionIds },
      notice_at: now,
      notice_told: [],
      version: agent.version + 1,
      updated_at: now,
    },
  );
  if (!stopped) return;
  deps.log.warn('agent stopped', { org: orgId, agent_id: agentId, code });
  await settleSlot(deps.store, stopped, now);
  await announce(deps, stopped);
}

function textOf({ _id, name, error_info: info }: AgentRecord, publicUrl: string): { subject: string; text: string } {
  return {
    subject: `Agent "${name}" was stopped`,
    text: `Signalbox has stopped the agent "${name}": ${info?.message ?? ''}\n\nEvents do not start it until it is active again. Look at its failed runs, mend it, and activate it.\n\n${publicUrl}/agents/api/executions?agent_id=${_id}&status=failed lists them.\n`,
  };
}

async function tell(deps: Deps, agent: AgentRecord): Promise<void> {
  const until = new Date(deps.clock.now().getTime() + TAKEN_MS);
  if (!(await takeAgentNotice(deps.store, agent, until))) return;
  // Resumed or mended in between: nothing to tell any more.
  if (agent.status === 'error') {
    // Whoever stopped it may have died before it could.
    await announce(deps, agent);
    const mail = {
      ...textOf(agent, deps.config.publicUrl),
      orgId: agent.org_id,
      cause: `${agent._id}.${stopOf(agent)}`,
      headers: { 'X-Signalbox-Agent': agent._id },
    };
    const note = (userId: string): Promise<void> => noteAgentTold(deps.store, agent._id, userId);
    await mailOwners(deps, mail, { ids: agent.notice_told ?? [], note });
  }
  await dropAgentNotice(deps.store, agent._id);
}

/** Tells owners of agents that were stopped; what cannot leave now is tried again later, under the same message id. */
export async function sendAgentNotices(deps: Deps): Promise<void> {
  const due = await agentNoticesDue(deps.store, deps.clock.now(), BATCH);
  await tellInTurn(
    due,
    (agent) => tell(deps, agent),
    ({ _id: id }, error) => deps.log.warn('agent notice deferred', { agent_id: id, error }),
  );
}

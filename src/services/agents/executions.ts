/** Executions: list, read, cancel, retry. Reads answer from one record; the engine is not asked. */
import type { Context } from '../../context';
import type { Handlers } from '../../contracts/operation';
import type { AgentOperations } from '../../contracts/operations/agents';
import { problem } from '../../contracts/problem';
import { systemAgents } from '../../catalog/system-agents';
import { executionRecord } from '../../domain/execution';
import { ALLOCATION, monthOf, nextMonthStart } from '../../domain/credits';
import { stateTag } from '../../domain/etag';
import { executionIdFor } from '../../domain/ids';
import { openPage } from '../../domain/list-page';
import { candidateOf, startStored } from '../../events/publish';
import { areAgentsWatched, webhooksOf } from '../../events/webhooks/listening';
import { cancelRecord, cancelSoon } from '../../events/cancel';
import type { Candidate } from '../../domain/matching';
import { flattenSteps } from '../../domain/plan';
import { presentExecution, presentRow } from '../../domain/present';
import { findAgent, readRuntime } from '../../store/agents';
import { askedBy, auditCancel, auditRetry } from '../../store/audit-asked';
import type { Asked } from '../../store/audit-trail';
import { readMonth } from '../../store/credits';
import * as store from '../../store/executions';
import { readTenant } from '../../store/tenants';

type Names = 'listExecutions' | 'getExecution' | 'cancelExecution' | 'retryExecution';

const PATH = '/agents/api/executions';
const COUNTED_MAX = 10_000;

function notFound(): never {
  throw problem('execution_not_found');
}

/** A retry changes what is shown of the execution it retries without writing a step of it. */
const tagOf = ({ _id: id, seq, status, retried_by: retry }: store.ExecutionRecord): string =>
  `${id}.${seq}.${status}.${retry ?? ''}`;

const shown = (context: Context, record: store.ExecutionRecord) => presentExecution(record, context.config.temporal);

/** What a cursor is made for: the org, the list and its filters, in whatever order the request names them. */
export const boundTo = (orgId: string, path: string, filter: object): unknown => [
  orgId,
  path,
  Object.entries(filter).toSorted(([one], [other]) => (one < other ? -1 : 1)),
];

const CURSOR_REFUSAL = 'The cursor was made for another list or is too old; start again without it.';

/** Opens the page of a cursor made for exactly this list; an empty cursor means the first page. */
export const openCursor = (
  context: Context,
  { limit, cursor }: { limit?: number | undefined; cursor?: string | undefined },
  bound: unknown,
) => openPage(context, { limit, continuationToken: cursor || undefined, refusal: CURSOR_REFUSAL }, bound);

/** Where a row stands in a list that begins with the newest. */
export const positionOf = ({ created_at: at, _id: id }: { created_at: Date; _id: string }) => ({
  value: at.getTime(),
  id,
});

const agentDeleted = () => problem('agent_not_found', { message: 'The agent of this execution was deleted.' });

/**
 * A deletion marks the agent and then cancels what it has open. Either it finds this run, or the mark is seen here;
 * so nobody has to wait for the sweep.
 */
async function refuseDeleted(context: Context, agent: Candidate, retry: store.ExecutionRecord): Promise<void> {
  if (agent.system || (await findAgent(context.store, retry.org_id, agent.id))) return;
  await cancelRecord(context, retry, 'agent_deleted');
  throw agentDeleted();
}

/** The agent that a retry runs: as it is now, and only if it may run. */
async function retryAgent(context: Context, orgId: string, agentId: string): Promise<Candidate> {
  const system = systemAgents.find((agent) => agent.id === agentId);
  if (system) {
    const paused = (await readRuntime(context.store, orgId)).paused_system.includes(agentId);
    if (paused)
      throw problem('agent_not_active', { message: 'The system agent is paused for this org; activate it first.' });
    return { ...system, name: system.definition.name, system: true, status: 'active' };
  }
  const own = await findAgent(context.store, orgId, agentId);
  if (!own) throw agentDeleted();
  if (own.status !== 'active')
    throw problem('agent_not_active', {
      message: `The agent is ${own.status}; activate it first.`,
      facts: { agent_status: own.status },
    });
  return candidateOf(own);
}

/** Refuses early what could not pay for its first AI step. */
async function requireCredits(context: Context, orgId: string, agent: Candidate): Promise<void> {
  if (!flattenSteps(agent.definition.steps).some(({ step }) => step.type === 'ai_reason')) return;
  const now = context.clock.now();
  const [month, tenant] = await Promise.all([
    readMonth(context.store, orgId, monthOf(now)),
    readTenant(context.store, orgId),
  ]);
  const available = month?.available ?? tenant?.creditAllocation ?? ALLOCATION[tenant?.tier ?? 'standard'];
  if (available > 0) return;
  const resetsAt = nextMonthStart(now).toISOString();
  throw problem('credit_insufficient', {
    message: `The org's credits for this month are used up; new ones come at ${resetsAt}.`,
    facts: { remaining: 0, resets_at: resetsAt },
  });
}

/** What a retry leaves beside its own record. A run that nobody answered may have left none of it. */
async function told(context: Context, record: store.ExecutionRecord, retry: store.ExecutionRecord): Promise<void> {
  await store.linkRetry(context.store, record.org_id, record._id, retry._id);
  await auditRetry(context, retry);
}

/** Finishes a retry whose request died after it had opened it. */
async function resumed(
  context: Context,
  record: store.ExecutionRecord,
  retry: store.ExecutionRecord,
): Promise<store.ExecutionRecord> {
  await told(context, record, retry);
  if (retry.start_pending) await startStored(context, retry);
  return retry;
}

async function openRetry(
  call: Asked & { context: Context; isRepeat: boolean },
  record: store.ExecutionRecord,
): Promise<store.ExecutionRecord> {
  const { context, isRepeat } = call;
  const latest = (await store.latestAttempt(context.store, record.org_id, record.root_id)) ?? record;
  if (isRepeat && latest.retry_of === record._id) return resumed(context, record, latest);
  if (latest.retry_of === record._id) await told(context, record, latest);
  if (!store.hasEnded(latest.status))
    throw problem('already_retried', {
      message: `Execution ${latest._id} retries this one and is ${latest.status}.`,
      facts: { execution_id: latest._id },
    });
  const agent = await retryAgent(context, record.org_id, record.agent_id);
  await requireCredits(context, record.org_id, agent);
  if (!(await context.engine.isReachable())) throw problem('engine_unavailable');
  const event = { ...record.trigger_event, org_id: record.org_id };
  const attemptNo = latest.attempt_no + 1;
  const watched = areAgentsWatched(await webhooksOf(context, record.org_id, null));
  const opened = executionRecord({
    id: executionIdFor(agent.id, `${record.org_id}:${event.id}`, attemptNo),
    event,
    agent,
    now: context.clock.now(),
    org: { name: record.org_name, timezone: record.org_timezone },
    watched,
    attemptNo,
    retryOf: { id: record._id, root: record.root_id },
  });
  const retry = { ...opened, asked_by: askedBy(call) };
  // Two clicks lead to the same id, so the second meets the first one's record.
  if (!(await store.openExecution(context.store, retry)))
    throw problem('already_retried', { facts: { execution_id: retry._id } });
  await refuseDeleted(context, agent, retry);
  await told(context, record, retry);
  await startStored(context, retry);
  return retry;
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;

export const executionHandlers: Pick<Handlers<AgentOperations, Context>, Names> = {
  async listExecutions({ context, principal, query }) {
    const { limit: asked, cursor, next_cursor: alias, from, to, ...fields } = query;
    const filter = {
      ...fields,
      ...(from ? { from: new Date(from) } : {}),
      ...(to ? { to: new Date(DAY.test(to) ? `${to}T23:59:59.999Z` : to) } : {}),
    };
    const wanted = { limit: asked, cursor: cursor ?? alias };
    const page = openCursor(context, wanted, boundTo(principal.orgId, PATH, filter));
    const [found, total] = await Promise.all([
      store.pageOfExecutions(context.store, principal.orgId, filter, { limit: page.readMax, after: page.after }),
      store.countExecutions(context.store, principal.orgId, filter),
    ]);
    const { rows, continuationToken: next, limit } = page.cut(found, positionOf);
    const executions = rows.map(presentRow);
    const estimate = total > COUNTED_MAX ? { total_is_estimate: true } : {};
    return {
      status: 200,
      body: { executions, total: Math.min(total, COUNTED_MAX), ...estimate, next_cursor: next, limit },
      etag: stateTag(executions, total, next === null),
    };
  },

  async getExecution({ context, principal, params }) {
    const record = (await store.findExecution(context.store, principal.orgId, params.id)) ?? notFound();
    return { status: 200, body: shown(context, record), etag: tagOf(record) };
  },

  async cancelExecution(call) {
    const { context, principal, params } = call;
    const record = (await store.findExecution(context.store, principal.orgId, params.id)) ?? notFound();
    const cancelled = store.hasEnded(record.status)
      ? null
      : await cancelRecord(context, record, 'cancelled_by_user', askedBy(call));
    const current = cancelled ?? (await store.findExecution(context.store, principal.orgId, params.id)) ?? notFound();
    if (current.status !== 'cancelled') {
      throw problem('execution_not_cancellable', {
        message: `The execution is ${current.status}; only one that is pending, running or waiting can be cancelled.`,
        facts: { current_status: current.status },
      });
    }
    if (cancelled) cancelSoon(context, cancelled._id);
    await auditCancel(context, current);
    return { status: 200, body: shown(context, current) };
  },

  async retryExecution(call) {
    const { context, principal, params } = call;
    const record = (await store.findExecution(context.store, principal.orgId, params.id)) ?? notFound();
    if (record.status !== 'failed' && record.status !== 'cancelled') {
      throw problem('execution_not_retryable', {
        message: `Only failed or cancelled executions can be retried; this one is ${record.status}.`,
        facts: { current_status: record.status },
      });
    }
    const retry = await openRetry(call, record);
    return { status: 202, body: shown(context, retry), headers: { Location: `${PATH}/${retry._id}` } };
  },
};

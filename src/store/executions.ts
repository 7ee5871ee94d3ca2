/** Executions and their step records: one document each, every change a compare-and-set on a status that has not ended. */
import type { AgentDefinition } from '../contracts/agent';
import {
  EXECUTION_STATUSES,
  STATUS_REASONS,
  type ErrorInfo,
  type ExecutionStatus,
  type StepStatus,
} from '../contracts/execution';
import { Enum, Json, Nullable, Type, type Static } from '../contracts/schema';
import type { EndedRun } from '../domain/agent-breaker';
import type { AskedBy } from '../domain/audit';
import type { TokenUsage } from '../domain/credits';
import type { Position } from '../domain/sealed-token';
import { collection, Instant, type Store } from './collection';
import { insertOnce } from './insert-once';

/** One slot per step of the definition, made when the execution is opened, so a retried write overwrites itself. */
export interface StepSlot {
  step_id: string;
  step_type: string;
  path: string;
  status: StepStatus;
  output: Record<string, unknown>;
  error: ErrorInfo | null;
  attempts: number;
  credits_used: number;
  started_at: Date | null;
  completed_at: Date | null;
  approval_id?: string;
  model?: Record<string, unknown>;
  usage?: Record<string, unknown>;
  /** Tokens of attempts at an AI step that brought no answer, by attempt. */
  spent?: Record<string, TokenUsage>;
}

interface StoredEvent {
  id: string;
  event_type: string;
  source_product: string;
  occurred_at: string;
  client_id: string | null;
  payload: Record<string, unknown>;
}

export const ExecutionRecord = Type.Object({
  _id: Type.String(),
  org_id: Type.String(),
  /** As it was at the start, for texts that name the org. */
  org_name: Type.String(),
  /** Likewise; executions that began before there was one have none. */
  org_timezone: Type.Optional(Type.String()),
  agent_id: Type.String(),
  agent_name: Type.String(),
  agent_version: Type.Integer(),
  status: Enum(EXECUTION_STATUSES),
  status_reason: Nullable(Enum(STATUS_REASONS)),
  error: Type.Unsafe<ErrorInfo | null>(Json()),
  credits_used: Type.Integer(),
  created_at: Instant(),
  started_at: Type.Unsafe<Date | null>({ 'x-instant': true }),
  completed_at: Type.Unsafe<Date | null>({ 'x-instant': true }),
  attempt_no: Type.Integer(),
  root_id: Type.String(),
  retry_of: Nullable(Type.String()),
  retried_by: Nullable(Type.String()),
  event_id: Type.String(),
  trigger_event: Type.Unsafe<StoredEvent>(Json()),
  definition: Type.Unsafe<AgentDefinition>(Json()),
  steps: Type.Unsafe<StepSlot[]>(Type.Array(Json())),
  /** Counts the records written; a worker's copy of the execution is current when it knows the same number. */
  seq: Type.Integer(),
  /** True until the engine has accepted the start. */
  start_pending: Type.Boolean(),
  /** Names the last write that was made together with those of other executions. */
  mark: Type.Optional(Type.String()),
  touched_at: Instant(),
  /** Set when an endpoint listened for agents' reports as it was opened; only then is its end reported. */
  watched: Type.Optional(Type.Boolean()),
  /** Set by the write that ends it. */
  unreported: Type.Optional(Type.Boolean()),
  /** Who asked for this retry, and who cancelled it, for the audit trail; absent where nobody did. */
  asked_by: Type.Optional(Type.Unsafe<AskedBy>(Json())),
  cancelled_by: Type.Optional(Type.Unsafe<AskedBy>(Json())),
  /** Set when a cancelled execution's workflow was seen to have closed, and when one that had not was told again. */
  workflow_closed: Type.Optional(Type.Boolean()),
  workflow_told_at: Type.Optional(Instant()),
});
export type ExecutionRecord = Static<typeof ExecutionRecord>;

/** How executions end whose workflow is told afterwards. */
export const ENDED_BEFORE_WORKFLOW = { $in: ['cancelled_by_user', 'agent_deleted'] };

const LIST = 'list';
const LIST_STATUS = 'list_status';
const LIST_AGENT = 'list_agent';

export const executions = collection('executions', ExecutionRecord, [
  { name: LIST, keys: { org_id: 1, created_at: -1, _id: -1 } },
  { name: LIST_STATUS, keys: { org_id: 1, status: 1, created_at: -1, _id: -1 } },
  { name: LIST_AGENT, keys: { org_id: 1, agent_id: 1, created_at: -1, _id: -1 } },
  { name: 'event', keys: { org_id: 1, event_id: 1 } },
  { name: 'attempts', keys: { root_id: 1, attempt_no: -1 } },
  { name: 'open', keys: { touched_at: 1 }, where: { status: { $in: ['pending', 'running', 'waiting_approval'] } } },
  {
    name: 'workflow_not_closed',
    keys: { completed_at: -1 },
    where: { status_reason: ENDED_BEFORE_WORKFLOW, workflow_closed: null },
  },
  { name: 'unreported', keys: { completed_at: 1 }, where: { watched: true, unreported: true } },
  { name: 'unstarted', keys: { created_at: 1 }, where: { start_pending: true } },
]);

export const OPEN_STATUSES: ExecutionStatus[] = ['pending', 'running', 'waiting_approval'];
export const hasEnded = (status: ExecutionStatus): boolean => !OPEN_STATUSES.includes(status);

/** Opens an execution once; answers false when it was open already. */
export const openExecution = (store: Store, record: ExecutionRecord): Promise<boolean> =>
  insertOnce(executions.in(store), record);

export const findExecution = (store: Store, orgId: string, id: string): Promise<ExecutionRecord | null> =>
  executions.in(store).findOne({ _id: id, org_id: orgId }).lean<ExecutionRecord>().exec();

export interface ExecutionQuery {
  agent_id?: string;
  status?: ExecutionStatus;
  event_id?: string;
  from?: Date;
  to?: Date;
}

const SUMMARY = { agent_id: 1, status: 1, status_reason: 1, credits_used: 1, created_at: 1, completed_at: 1 };

const matching = (orgId: string, query: ExecutionQuery): Record<string, unknown> => {
  const { from, to, ...fields } = query;
  const range = { ...(from ? { $gte: from } : {}), ...(to ? { $lte: to } : {}) };
  return { org_id: orgId, ...fields, ...(from || to ? { created_at: range } : {}) };
};

const listIndex = (query: ExecutionQuery): string => {
  if (query.event_id) return 'event';
  if (query.agent_id) return LIST_AGENT;
  return query.status ? LIST_STATUS : LIST;
};

export type ExecutionRow = Pick<
  ExecutionRecord,
  '_id' | 'agent_id' | 'status' | 'status_reason' | 'credits_used' | 'created_at' | 'completed_at'
>;

/** One page, newest first. `$nor` cuts off the ties already shown: with `$or` DocumentDB may leave the index and sort. */
export function pageOfExecutions(
  store: Store,
  orgId: string,
  query: ExecutionQuery,
  page: { limit: number; after: Position | null },
): Promise<ExecutionRow[]> {
  const filter = matching(orgId, query);
  if (page.after) {
    const at = new Date(Number(page.after.value));
    const range = { ...(filter['created_at'] as object | undefined), $lte: at };
    filter['created_at'] = range;
    filter['$nor'] = [{ created_at: at, _id: { $gte: page.after.id } }];
  }
  return executions
    .in(store)
    .find(filter as never, SUMMARY)
    .sort({ created_at: -1, _id: -1 })
    .limit(page.limit)
    .hint(listIndex(query))
    .lean<ExecutionRow[]>()
    .exec();
}

const COUNT_MAX = 10_001;

/** How many match, counted up to 10 001 so that a large org costs no more than a small one. */
export async function countExecutions(store: Store, orgId: string, query: ExecutionQuery): Promise<number> {
  const options = { limit: COUNT_MAX, hint: listIndex(query) };
  const counted: unknown = await executions.in(store).collection.countDocuments(matching(orgId, query), options);
  return Number(counted);
}

/** Runs of an agent that ended by themselves and were opened after `since`, newest first. */
export const endedRuns = (
  store: Store,
  at: { orgId: string; agentId: string; since: Date },
  limit: number,
): Promise<EndedRun[]> =>
  executions
    .in(store)
    .find(
      {
        org_id: at.orgId,
        agent_id: at.agentId,
        created_at: { $gt: at.since },
        status: { $in: ['completed', 'failed'] },
      } as never,
      { status: 1, status_reason: 1, error: 1, created_at: 1 },
    )
    .sort({ created_at: -1, _id: -1 })
    .limit(limit)
    .hint(LIST_AGENT)
    .lean<EndedRun[]>()
    .exec();

/** The latest attempt of a chain of retries. */
export const latestAttempt = (store: Store, orgId: string, rootId: string): Promise<ExecutionRecord | null> =>
  executions
    .in(store)
    .findOne({ root_id: rootId, org_id: orgId })
    .sort({ attempt_no: -1 })
    .lean<ExecutionRecord>()
    .exec();

/** Links an execution to the one that retries it. */
export const linkRetry = async (store: Store, orgId: string, id: string, retryId: string): Promise<void> => {
  await executions.in(store).updateOne({ _id: id, org_id: orgId }, { $set: { retried_by: retryId } });
};

/** What it takes to end an execution; all of a record may be a megabyte. */
export type OpenExecution = Pick<ExecutionRecord, '_id' | 'org_id'>;

export const openExecutionsOf = (
  store: Store,
  { orgId, agentId }: { orgId: string; agentId: string },
  limit: number,
): Promise<OpenExecution[]> =>
  executions
    .in(store)
    .find({ org_id: orgId, agent_id: agentId, status: { $in: OPEN_STATUSES } }, { org_id: 1 })
    .limit(limit)
    .lean<OpenExecution[]>()
    .exec();

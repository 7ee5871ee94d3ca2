/** Entries about what records tell themselves: who asked, and when. They are written before the answer, or by whoever finds them missing. */
import type { AskedBy } from '../domain/audit';
import type { AgentRecord } from './agents';
import { hasAudit } from './audit';
import { actorOf, deedId, draftOf, write, type Actor, type Asked, type Deed, type Place } from './audit-trail';
import type { ExecutionRecord } from './executions';

/** Who asked, as a record keeps it for an entry that may be written later. */
export const askedBy = ({ principal, requestId }: Pick<Asked, 'principal' | 'requestId'>): AskedBy => ({
  actor: actorOf(principal),
  requestId,
});

/** Writes what somebody asked for as a record tells it, unless it is in the trail. */
async function writeAsAsked(
  context: Place,
  orgId: string,
  { by, at }: { by: Omit<AskedBy, 'requestId'> & { requestId: string | null }; at: Date },
  deed: Deed,
): Promise<void> {
  const draft = draftOf(context, orgId, by.actor, deed);
  if (await hasAudit(context.store, draft.id)) return;
  await write(context, { ...draft, at: at.toISOString(), requestId: by.requestId });
}

type Deleted = Pick<AgentRecord, '_id' | 'org_id' | 'name' | 'deleted_by' | 'updated_at'>;

const deletionOf = ({ _id: id, name }: Deleted) => ({
  action: 'agent.deleted' as const,
  target: { kind: 'agent' as const, id, name },
  cause: [],
});

/** True when the deletion of an agent is in the trail. */
export const isDeletionAudited = (context: Place, agent: Deleted): Promise<boolean> =>
  hasAudit(context.store, deedId(agent.org_id, deletionOf(agent)) ?? '');

/**
 * Records that an agent was deleted by whom its mark names: before that is answered, and once more before the record
 * goes. The second finds the entry of the first, unless that one died.
 */
export async function auditDeletion(context: Place, agent: Deleted): Promise<void> {
  const nobody: Actor = { kind: 'system', id: 'system:sweep', label: null, ip: null };
  const by = agent.deleted_by ?? { actor: nobody, requestId: null };
  await writeAsAsked(context, agent.org_id, { by, at: agent.updated_at }, deletionOf(agent));
}

/**
 * Records that an execution was cancelled by whom its record names, if by anybody: before that is answered, and once
 * more by the sweep.
 */
export async function auditCancel(
  context: Place,
  execution: Pick<ExecutionRecord, '_id' | 'org_id' | 'agent_id' | 'cancelled_by' | 'completed_at'>,
): Promise<void> {
  const { cancelled_by: by, completed_at: at } = execution;
  if (!by || !at) return;
  await writeAsAsked(
    context,
    execution.org_id,
    { by, at },
    {
      action: 'execution.cancelled',
      target: { kind: 'execution', id: execution._id, name: null },
      details: { agentId: execution.agent_id },
      cause: [],
    },
  );
}

/** Records that an execution was retried, as the new one tells it: before that is answered, whoever asks. */
export async function auditRetry(context: Place, retry: ExecutionRecord): Promise<void> {
  const { asked_by: by, created_at: at, agent_id: agentId, _id: retryId } = retry;
  if (!by || !retry.retry_of) return;
  await writeAsAsked(
    context,
    retry.org_id,
    { by, at },
    {
      action: 'execution.retried',
      target: { kind: 'execution', id: retry.retry_of, name: null },
      details: { agentId, retryId },
      cause: [retryId],
    },
  );
}

/** Agents, the per-org pause of system agents and the slots that cap active agents. */
import {
  AGENT_CATEGORIES,
  AGENT_STATUSES,
  AGENT_TYPES,
  type AgentDefinition,
  type AgentFault,
  type AgentStatus,
  type AgentType,
} from '../contracts/agent';
import { Enum, Json, Type, type Static } from '../contracts/schema';
import type { AskedBy } from '../domain/audit';
import { fenced, raiseEpoch } from './guards';
import { collection, Instant, isDuplicate, type Store } from './collection';
import { insertSeated, seatIndex } from './seats';

/** Why an agent was stopped. */
type StoredError = Omit<AgentFault, 'since'> & { since: Date };

export const AgentRecord = Type.Object({
  _id: Type.String(),
  org_id: Type.String(),
  type: Enum(AGENT_TYPES),
  status: Enum(AGENT_STATUSES),
  name: Type.String(),
  category: Enum(AGENT_CATEGORIES),
  definition: Type.Unsafe<AgentDefinition>(Json()),
  /** Copies of the trigger that events are matched by. */
  event_type: Type.String(),
  source_product: Type.String(),
  version: Type.Integer(),
  source: Type.Unsafe<{ kind: 'template' | 'agent'; id: string; version: string } | null>(Json()),
  /** Why the agent is in error; set and cleared with the status. */
  error_info: Type.Optional(Type.Unsafe<StoredError | null>(Json())),
  /** From when the owners are to be told that it was stopped; absent when nobody has to be. */
  notice_at: Type.Optional(Instant()),
  /** Those who were told by then, while others were not. */
  notice_told: Type.Optional(Type.Array(Type.String())),
  deleting: Type.Boolean(),
  /** Who asked for that, for the audit trail; absent in records that were marked before it was kept. */
  deleted_by: Type.Optional(Type.Unsafe<AskedBy>(Json())),
  /** See `seats.ts`; absent in records that were made before there were seats, or beside them. */
  seat: Type.Optional(Type.Integer()),
  created_at: Instant(),
  updated_at: Instant(),
});
export type AgentRecord = Static<typeof AgentRecord>;

export const agents = collection('agents', AgentRecord, [
  { name: 'match', keys: { org_id: 1, source_product: 1, event_type: 1, status: 1 } },
  { name: 'list', keys: { org_id: 1, created_at: 1, _id: 1 } },
  { name: 'notices', keys: { notice_at: 1 }, where: { notice_at: { $exists: true } } },
  seatIndex('org_id'),
]);

/** One document per org: paused system agents and the active agents that hold a slot of the tier. */
const OrgRuntimeRecord = Type.Object({
  _id: Type.String(),
  paused_system: Type.Unsafe<string[]>(Type.Array(Type.String())),
  /** When each active agent took its slot. */
  active: Type.Unsafe<Record<string, Date>>(Json()),
  active_count: Type.Integer(),
});
export const orgRuntime = collection('org_runtime', OrgRuntimeRecord, []);

const live = (orgId: string) => ({ org_id: orgId, deleting: false });

export const insertAgent = async (store: Store, record: AgentRecord): Promise<void> => {
  await agents.in(store).collection.insertOne(record as never);
  await raiseEpoch(store, record.org_id);
};

/** Records a new agent as `insertAgent` does; false when the org has `max` of them. */
export async function insertAgentWithin(store: Store, record: AgentRecord, max: number): Promise<boolean> {
  const { org_id: orgId } = record;
  if (!(await insertSeated(store, { name: agents.name, live: live(orgId), max }, record))) return false;
  await raiseEpoch(store, orgId);
  return true;
}

export const findAgent = (store: Store, orgId: string, id: string): Promise<AgentRecord | null> =>
  agents
    .in(store)
    .findOne({ _id: id, ...live(orgId) })
    .lean<AgentRecord>()
    .exec();

export interface AgentQuery {
  status?: AgentStatus;
  type?: AgentType;
  category?: string;
}

export const AGENTS_PER_ORG_MAX = 2_000;

/** Every agent of the org that matches, oldest first. An org holds at most a few thousand. */
export const listAgents = (store: Store, orgId: string, query: AgentQuery): Promise<AgentRecord[]> =>
  agents
    .in(store)
    .find({ ...live(orgId), ...query } as never)
    .sort({ created_at: 1, _id: 1 })
    .limit(AGENTS_PER_ORG_MAX)
    .lean<AgentRecord[]>()
    .exec();

/** The org's agents listening for an event type, whatever their status: the others explain why nothing ran. */
export const listeningAgents = (
  store: Store,
  orgId: string,
  event: { source_product: string; event_type: string },
): Promise<AgentRecord[]> =>
  agents
    .in(store)
    .find({ ...live(orgId), source_product: event.source_product, event_type: event.event_type })
    .sort({ _id: 1 })
    .limit(AGENTS_PER_ORG_MAX)
    .lean<AgentRecord[]>()
    .exec();

/** One write to an agent at a version. What processes remember of the org's agents ends before it is answered. */
const write = (
  store: Store,
  { orgId, id, version }: { orgId: string; id: string; version: number },
  update: Record<string, unknown>,
): Promise<AgentRecord | null> =>
  // Past the model, which takes objects with names such as `$__` in what authors write for its own.
  fenced(
    store,
    orgId,
    async () =>
      (await agents.in(store).collection.findOneAndUpdate({ _id: id, ...live(orgId), version } as never, update, {
        returnDocument: 'after',
      })) as unknown as AgentRecord | null,
  );

/** Applies a change if the agent is still at `version`; answers the changed record, or null when it is not. */
export const changeAgent = (
  store: Store,
  at: Parameters<typeof write>[1],
  change: Partial<AgentRecord>,
): Promise<AgentRecord | null> => write(store, at, { $set: change });

/** Stopped agents whose owners are to be told. */
export const agentNoticesDue = (store: Store, now: Date, limit: number): Promise<AgentRecord[]> =>
  agents
    .in(store)
    .find({ notice_at: { $lte: now } })
    .sort({ notice_at: 1 })
    .limit(limit)
    .lean<AgentRecord[]>()
    .exec();

/** Keeps a notice from others until `until`; false when somebody else has it. Not returned, it is due again then. */
export const takeAgentNotice = async (
  store: Store,
  { _id, notice_at }: Pick<AgentRecord, '_id' | 'notice_at'>,
  until: Date,
): Promise<boolean> => {
  const taken = await agents.in(store).updateOne({ _id, notice_at: notice_at ?? null }, { $set: { notice_at: until } });
  return taken.matchedCount > 0;
};

/** Notes that one of them knows. */
export const noteAgentTold = async (store: Store, id: string, userId: string): Promise<void> => {
  await agents.in(store).updateOne({ _id: id }, { $addToSet: { notice_told: userId } });
};

/** Nobody has to be told any more. */
export const dropAgentNotice = async (store: Store, id: string): Promise<void> => {
  await agents.in(store).updateOne({ _id: id }, { $unset: { notice_at: '', notice_told: '' } });
};

/** Marks the agent as going away, if it is still at `version`: from here on no event can start it. */
export const markAgentDeleting = (
  store: Store,
  at: Parameters<typeof write>[1],
  mark: { deleted_by: AskedBy; updated_at: Date },
): Promise<AgentRecord | null> => write(store, at, { $set: { deleting: true, ...mark }, $unset: { seat: '' } });

/** The agent while it is going away. */
export const findDeleting = (store: Store, orgId: string, id: string): Promise<AgentRecord | null> =>
  agents.in(store).findOne({ _id: id, org_id: orgId, deleting: true }).lean<AgentRecord>().exec();

export const removeAgent = async (store: Store, orgId: string, id: string): Promise<void> => {
  await agents.in(store).deleteOne({ _id: id, org_id: orgId, deleting: true });
};

/** Agents that were deleted before `before` and whose records are still there. */
export const deletedAgents = (store: Store, before: Date, limit: number): Promise<AgentRecord[]> =>
  agents
    .in(store)
    .find({ deleting: true, updated_at: { $lt: before } })
    .limit(limit)
    .lean<AgentRecord[]>()
    .exec();

async function ensureRuntime(store: Store, orgId: string): Promise<void> {
  try {
    await orgRuntime
      .in(store)
      .collection.insertOne({ _id: orgId, paused_system: [], active: {}, active_count: 0 } as never);
  } catch (error) {
    if (!isDuplicate(error)) throw error;
  }
}

const emptyRuntime = (orgId: string) => ({
  _id: orgId,
  paused_system: [] as string[],
  active: {} as Record<string, Date>,
  active_count: 0,
});

export const readRuntime = async (store: Store, orgId: string) =>
  (await orgRuntime.in(store).findById(orgId).lean<ReturnType<typeof emptyRuntime>>().exec()) ?? emptyRuntime(orgId);

/** Claims an active-agent slot: one guarded update, so two activations can never share the last one. */
export async function claimSlot(
  store: Store,
  at: { orgId: string; agentId: string; now: Date },
  cap: number,
): Promise<boolean> {
  const { orgId, agentId, now } = at;
  await ensureRuntime(store, orgId);
  const claimed = await orgRuntime
    .in(store)
    .updateOne({ _id: orgId, active_count: { $lt: cap }, [`active.${agentId}`]: { $exists: false } } as never, {
      $set: { [`active.${agentId}`]: now },
      $inc: { active_count: 1 },
    });
  if (claimed.matchedCount > 0) return true;
  const runtime = await readRuntime(store, orgId);
  return agentId in runtime.active;
}

const SLOTS_AT_ONCE = 500;

/** Slots taken before `before` whose agents are not active: a process died between the slot and the status. */
export async function leakedSlots(store: Store, before: Date): Promise<{ orgId: string; agentId: string }[]> {
  const taken: { orgId: string; agentId: string }[] = [];
  const cursor = orgRuntime
    .in(store)
    .find({ active_count: { $gt: 0 } })
    .lean<ReturnType<typeof emptyRuntime>[]>()
    .cursor();
  for await (const { _id: orgId, active } of cursor) {
    const old = Object.keys(active).filter((id) => (active[id] ?? before) < before);
    taken.push(...old.map((agentId) => ({ orgId, agentId })));
  }
  const held = new Set<string>();
  for (let at = 0; at < taken.length; at += SLOTS_AT_ONCE) {
    const ids = taken.slice(at, at + SLOTS_AT_ONCE).map(({ agentId }) => agentId);
    const rows = await agents
      .in(store)
      .find({ _id: { $in: ids }, deleting: false, status: 'active' }, { org_id: 1 })
      .lean<{ _id: string; org_id: string }[]>()
      .exec();
    for (const row of rows) held.add(`${row.org_id} ${row._id}`);
  }
  return taken.filter(({ orgId, agentId }) => !held.has(`${orgId} ${agentId}`));
}

/** Gives a slot back; a second call changes nothing. */
export const freeSlot = async (store: Store, orgId: string, agentId: string): Promise<void> => {
  await orgRuntime.in(store).updateOne({ _id: orgId, [`active.${agentId}`]: { $exists: true } } as never, {
    $unset: { [`active.${agentId}`]: '' },
    $inc: { active_count: -1 },
  });
};

/**
 * Makes the slot follow the status, whatever others did to it meanwhile. The status is read again after the slot was
 * given back: an agent that was activated in between gets it once more.
 */
export async function settleSlot(
  store: Store,
  { org_id: orgId, _id: id }: Pick<AgentRecord, '_id' | 'org_id'>,
  now: Date,
): Promise<void> {
  const isActive = async (): Promise<boolean> => (await findAgent(store, orgId, id))?.status === 'active';
  const keep = () => claimSlot(store, { orgId, agentId: id, now }, Number.MAX_SAFE_INTEGER);
  if (await isActive()) {
    await keep();
    return;
  }
  await freeSlot(store, orgId, id);
  if (await isActive()) await keep();
}

/** Pauses or resumes a system agent for one org. */
export async function setSystemPaused(store: Store, orgId: string, agentId: string, paused: boolean): Promise<void> {
  await ensureRuntime(store, orgId);
  await orgRuntime
    .in(store)
    .updateOne(
      { _id: orgId },
      paused ? { $addToSet: { paused_system: agentId } } : { $pull: { paused_system: agentId } },
    );
}

/** Run figures of agents, kept apart from their definitions because they change with every run. */
import { Nullable, Type, type Static } from '../contracts/schema';
import { collection, Instant, type Store } from './collection';
import { updateEach } from './update-each';

const Runs = Type.Object({
  total: Type.Integer(),
  completed: Type.Integer(),
  failed: Type.Integer(),
  duration_ms: Type.Integer(),
  last_run_at: Nullable(Instant()),
});

/** By org and agent: system agents belong to every org. */
const AgentStatsRecord = Type.Object({
  _id: Type.String(),
  org_id: Type.String(),
  agent_id: Type.String(),
  runs: Runs,
});
export const agentStats = collection('agent_stats', AgentStatsRecord, []);
export type AgentRuns = Static<typeof Runs>;

export const statsId = (orgId: string, agentId: string): string => `${orgId}:${agentId}`;

/** Run figures by agent id. Asked for by name: an org may have had many more agents than it has. */
export async function readStats(
  store: Store,
  orgId: string,
  agentIds: readonly string[],
): Promise<Map<string, AgentRuns>> {
  const rows = await agentStats
    .in(store)
    .find({ _id: { $in: agentIds.map((id) => statsId(orgId, id)) } })
    .lean<Static<typeof AgentStatsRecord>[]>()
    .exec();
  return new Map(rows.map((row) => [row.agent_id, row.runs]));
}

/** Nobody asks for the figures of an agent that is gone. */
export const removeStats = async (store: Store, orgId: string, agentId: string): Promise<void> => {
  await agentStats.in(store).deleteOne({ _id: statsId(orgId, agentId) });
};

export interface RunTally {
  orgId: string;
  agentId: string;
  completed: number;
  failed: number;
  total: number;
  durationMs: number;
  lastRunAt: Date;
}

/** Adds finished runs to the figures of their agents, in one round trip. */
export async function addRuns(store: Store, tallies: RunTally[]): Promise<void> {
  await updateEach(
    agentStats.in(store),
    tallies.map((tally) => ({
      updateOne: {
        filter: { _id: statsId(tally.orgId, tally.agentId) },
        update: {
          $setOnInsert: { org_id: tally.orgId, agent_id: tally.agentId },
          $inc: {
            'runs.total': tally.total,
            'runs.completed': tally.completed,
            'runs.failed': tally.failed,
            'runs.duration_ms': tally.durationMs,
          },
          $max: { 'runs.last_run_at': tally.lastRunAt },
        },
        upsert: true,
      },
    })),
  );
}

/** A month of runs of one agent, with the events, approvals, credits and figures that belong to them. */
import type { AgentDefinition } from '../../src/contracts/agent';
import type { BusEvent } from '../../src/contracts/event';
import { systemAgents } from '../../src/catalog/system-agents';
import { creditsFor, monthOf, monthsBefore } from '../../src/domain/credits';
import { executionRecord } from '../../src/domain/execution';
import { approvalIdFor, executionIdFor } from '../../src/domain/ids';
import { judge, settleMatches, type Candidate } from '../../src/domain/matching';
import { addRuns, readStats } from '../../src/store/agent-runs';
import { approvals, type ApprovalRecord } from '../../src/store/approvals';
import { credits, ensureMonth } from '../../src/store/credits';
import type { Store } from '../../src/store/collection';
import { events, eventKeyOf, type EventRecord } from '../../src/store/events';
import { openExecution, type ExecutionRecord } from '../../src/store/executions';

export interface DemoOptions {
  store: Store;
  orgId: string;
  now: Date;
}

/** Whose runs they are. Its steps are a summary, a gate and a mail. */
export interface SeededAgent {
  id: string;
  definition: AgentDefinition;
}

const ALLOCATION = 100_000;
const HISTORY_RUNS = 60;
const DAY = 24 * 60 * 60 * 1_000;
const ORG_NAME = 'Demo MSP';

const SUBJECTS = ['Mail server down', 'VPN unreachable', 'File share read-only', 'Backup job stuck', 'Phones silent'];
/** Below the numbers of the tickets that are there: those of the history are of another system. */
const FIRST_NUMBER = 400;

const USAGE = { input_tokens: 120, output_tokens: 60 };
const MODEL = { tier: 'quick', provider: 'offline', name: 'extractive' };
const DECIDED_BY = 'usr_demo_tech';

/** Begin and end of each step, in milliseconds of its run: one after the other. */
const STEPS = [
  [0, 800],
  [1_000, 61_000],
  [61_200, 62_000],
] as const;
const RUN_MS = 62_000;
const [, [ASKED_MS, DECIDED_MS]] = STEPS;

const after = (at: Date, ms: number): Date => new Date(at.getTime() + ms);

/** When run number `index` happened: evenly over the past thirty days. */
const pastMoment = (index: number, now: Date): Date =>
  new Date(now.getTime() - Math.floor(((HISTORY_RUNS - index) * 30 * DAY) / HISTORY_RUNS) - 3_600_000);

const subjectOf = (index: number): string => String(SUBJECTS[index % SUBJECTS.length]);
const numberOf = (index: number): string => `T-${FIRST_NUMBER + index}`;

const pastEvent = (orgId: string, index: number, at: Date): BusEvent => ({
  id: `evt_history_${index}`,
  org_id: orgId,
  event_type: 'ticket.created',
  source_product: 'psa',
  occurred_at: at.toISOString(),
  client_id: null,
  payload: {
    ticket_number: numberOf(index),
    title: subjectOf(index),
    description: null,
    priority: 'critical',
    status: 'new',
    source: 'phone',
  },
});

const pastOutputs = (index: number, at: Date): Record<string, unknown>[] => [
  { text: `${subjectOf(index)}.` },
  { decision: 'approved', decided_by: DECIDED_BY, decided_at: after(at, DECIDED_MS).toISOString(), note: null },
  { deliveries: [{ recipient: 'oncall@example.com', status: 'sent', message_id: `<history-${index}@signalbox>` }] },
];

/** One finished run of the past: the summary was made, somebody approved, the mail left. */
function pastRun(orgId: string, agent: SeededAgent, event: BusEvent, index: number): ExecutionRecord {
  const at = new Date(event.occurred_at);
  const record = executionRecord({
    id: executionIdFor(agent.id, `${orgId}:${event.id}`, 1),
    event,
    now: at,
    org: { name: ORG_NAME },
    agent: { ...agent, name: agent.definition.name, version: 1 },
  });
  const cost = creditsFor('quick', USAGE);
  const outputs = pastOutputs(index, at);
  const steps = record.steps.map((slot, step) => ({
    ...slot,
    status: 'completed' as const,
    output: outputs[step] ?? {},
    attempts: 1,
    credits_used: step === 0 ? cost : 0,
    started_at: after(at, STEPS[step]?.[0] ?? RUN_MS),
    completed_at: after(at, STEPS[step]?.[1] ?? RUN_MS),
    ...(step === 0 ? { model: MODEL, usage: USAGE } : {}),
  }));
  return {
    ...record,
    steps,
    status: 'completed',
    credits_used: cost,
    started_at: at,
    completed_at: after(at, RUN_MS),
    seq: 4,
    start_pending: false,
  };
}

/** What was asked at the gate of a run, and that it was approved. */
function pastApproval(run: ExecutionRecord, index: number): ApprovalRecord {
  const asked = after(run.created_at, ASKED_MS);
  const decided = after(run.created_at, DECIDED_MS);
  const gate = run.steps.find(({ step_type: type }) => type === 'approval_gate');
  return {
    _id: approvalIdFor(run._id, gate?.path ?? '1'),
    org_id: run.org_id,
    execution_id: run._id,
    agent_id: run.agent_id,
    step_id: gate?.step_id ?? 'ok',
    message: `Notify on-call about ${numberOf(index)} (${subjectOf(index)})?`,
    status: 'approved',
    expires_at: after(asked, DAY),
    created_at: asked,
    decided_by: DECIDED_BY,
    decided_at: decided,
    decided_via: 'console',
    note: null,
    approver: { kind: 'org_users', contact_id: null, client_id: null, unaddressed: null },
    consumed_at: decided,
  };
}

/** What each agent that listened at that time made of the event. */
function candidatesFor(agent: SeededAgent, event: BusEvent): Candidate[] {
  const system = systemAgents
    .filter(({ definition: { trigger } }) => trigger.event_type === event.event_type)
    .map(({ id, definition, version }) => ({ id, definition, version, name: definition.name, system: true }));
  const own = { ...agent, name: agent.definition.name, version: 1, system: false };
  return [...system, own].map((candidate) => ({ ...candidate, status: 'active' as const }));
}

/** The log's entry of an event that came from outside and started the run. */
function pastEntry(agent: SeededAgent, event: BusEvent, run: ExecutionRecord): EventRecord {
  const facts = { now: run.created_at, org: { id: event.org_id, tier: 'enterprise', name: ORG_NAME } };
  const candidates = candidatesFor(agent, event);
  const judgements = candidates.map((candidate) => judge(candidate, event, facts));
  const { outcomes } = settleMatches(event, candidates, judgements);
  return {
    _id: eventKeyOf(event.org_id, event.id),
    org_id: event.org_id,
    event_id: event.id,
    event_type: event.event_type,
    source_product: event.source_product,
    occurred_at: event.occurred_at,
    received_at: run.created_at,
    client_id: event.client_id,
    payload: event.payload,
    sequence: null,
    subject: null,
    resource_id: null,
    webhooks: [],
    outcomes,
    opening: false,
  };
}

/** Writes the runs with what they came from and what they asked; a start that broke off here is made up for. */
async function writeRuns(store: Store, orgId: string, agent: SeededAgent, now: Date): Promise<ExecutionRecord[]> {
  const runs: ExecutionRecord[] = [];
  for (let index = 0; index < HISTORY_RUNS; index += 1) {
    const event = pastEvent(orgId, index, pastMoment(index, now));
    const run = pastRun(orgId, agent, event, index);
    const entry = pastEntry(agent, event, run);
    const approval = pastApproval(run, index);
    await openExecution(store, run);
    await events.in(store).collection.replaceOne({ _id: entry._id } as never, entry, { upsert: true });
    await approvals.in(store).collection.replaceOne({ _id: approval._id } as never, approval, { upsert: true });
    runs.push(run);
  }
  return runs;
}

/** Runs of the past with the credits and figures that belong to them, so that every sum adds up. */
export async function seedHistory({ store, orgId, now }: DemoOptions, agent: SeededAgent): Promise<void> {
  const { id } = agent;
  if ((await readStats(store, orgId, [id])).has(id)) return;
  const runs = await writeRuns(store, orgId, agent, now);
  for (const month of [monthOf(now), ...monthsBefore(now, 12)]) {
    const used = runs
      .filter((run) => monthOf(run.created_at) === month)
      .reduce((sum, run) => sum + run.credits_used, 0);
    await ensureMonth(store, { orgId, month, allocation: ALLOCATION }, now);
    if (used === 0) continue;
    await credits
      .in(store)
      .updateOne(
        { _id: `${orgId}:${month}`, total_used: 0 },
        { $inc: { total_used: used, available: -used }, $set: { [`by_agent.${id}`]: used, 'by_model.quick': used } },
      );
  }
  await addRuns(store, [
    {
      orgId,
      agentId: id,
      total: runs.length,
      completed: runs.length,
      failed: 0,
      durationMs: runs.length * RUN_MS,
      lastRunAt: runs.at(-1)?.completed_at ?? now,
    },
  ]);
}

/** An event's way to its executions: match, record, open, start. Every stage can be repeated; ids keep it to one of each. */
import type { Context } from '../context';
import type { AgentDefinition } from '../contracts/agent';
import type { BusEvent, EventOutcome } from '../contracts/event';
import { isAgentReport } from '../catalog/agent-events';
import { systemAgents } from '../catalog/system-agents';
import { executionRecord, workflowInput } from '../domain/execution';
import { judge, settleMatches, type Candidate } from '../domain/matching';
import { faultOf } from '../engine/outages';
import { startExecution, workflowStatus } from '../engine/executions';
import { findAgent, readRuntime, type AgentRecord } from '../store/agents';
import { findListening } from './listening';
import { createMemory } from './memory';
import { markOpened, recordEvent, type EventRecord } from '../store/events';
import { orgFacts, type OrgFacts } from './org-facts';
import { findExecution, openExecution, type ExecutionRecord } from '../store/executions';
import { resourceIdOf } from '../domain/webhooks/envelope';
import { mapInSlices } from './slices';
import { openFor } from './webhooks/dispatch';
import { areAgentsWatched, asking, webhooksOf } from './webhooks/listening';
import type { WebhookRecord } from '../store/webhooks';

export interface Published {
  eventId: string;
  duplicate: boolean;
  executions: { id: string; agent_id: string }[];
}

export const candidateOf = (record: AgentRecord): Candidate => ({
  id: record._id,
  name: record.name,
  system: false,
  status: record.status,
  version: record.version,
  definition: record.definition,
});

const systemAgentsFor = (event: BusEvent): typeof systemAgents =>
  systemAgents.filter(
    ({ definition: { trigger } }) =>
      trigger.event_type === event.event_type && trigger.source_product === event.source_product,
  );

/** System agents that listen for the event; which of them are paused is read only when there are any. */
async function systemCandidates(context: Context, event: BusEvent): Promise<Candidate[]> {
  const listening = systemAgentsFor(event);
  if (listening.length === 0) return [];
  const { paused_system: paused } = await readRuntime(context.store, event.org_id);
  return listening.map(({ id, definition, version }) => ({
    id,
    name: definition.name,
    system: true,
    version,
    definition,
    status: paused.includes(id) ? 'paused' : 'active',
  }));
}

/** Every agent that listens for the event, active or not. */
async function candidatesFor(context: Context, event: BusEvent, epoch: number | null): Promise<Candidate[]> {
  // An agent that started on what agents report could start itself for ever.
  if (isAgentReport(event)) return [];
  const [own, system] = await Promise.all([findListening(context, event, epoch), systemCandidates(context, event)]);
  return [...system, ...own.map(candidateOf)];
}

const startedOf = (outcomes: EventOutcome[]): { id: string; agent_id: string }[] =>
  outcomes.flatMap(({ execution_id: id, agent_id }) => (id ? [{ id, agent_id }] : []));

/** Workflows whose id a record may take over that has not begun, and the reuse it takes. */
const ORPHANS: Partial<Record<string, 'failed' | 'ended'>> = { FAILED: 'failed', COMPLETED: 'ended' };

/**
 * A workflow that was ahead of its record gives up after a minute. When the record comes all the same it never began, and
 * the workflow has failed; one that an operator ended stays ended. One that has completed did so before the store was
 * restored from an older copy: it ran for a record that is gone, and this one is that of the repeat.
 */
async function orphanOf(context: Context, { _id: id, org_id: orgId }: ExecutionRecord) {
  const stored = await findExecution(context.store, orgId, id);
  if (stored?.status !== 'pending' || stored.seq > 0) return undefined;
  return ORPHANS[(await workflowStatus(context.engine, id)) ?? ''];
}

const traceUrlOf = ({ config }: Context, { _id: id }: ExecutionRecord): string =>
  `${config.publicUrl}/agents/api/executions/${id}`;

const accepted = createMemory<true>();

/** True when the engine has just taken this execution from this process; the relay need not ask it again. */
export const wasJustStarted = (context: Context, { _id: id }: ExecutionRecord): boolean =>
  accepted.find(context, id) !== null;

/** Hands a stored execution to the engine. */
export async function startNow(context: Context, record: ExecutionRecord, known?: OrgFacts): Promise<void> {
  const org = known ?? (await orgFacts(context, record.org_id, null));
  const url = traceUrlOf(context, record);
  const input = workflowInput(record, org);
  const isUnderWay = await startExecution(context.engine, input, url);
  // Read only now: a workflow that had ended by then had written its end before.
  const orphan = isUnderWay ? undefined : await orphanOf(context, record);
  if (orphan) await startExecution(context.engine, input, url, orphan);
  accepted.keep(context, record._id, true);
}

/** As `startNow`; failure leaves it pending for the relay, which tries again. An engine that is away is not waited for. */
export async function startStored(context: Context, record: ExecutionRecord, known?: OrgFacts): Promise<void> {
  try {
    if (context.engine.isAway() || !(await context.engine.isReachable())) return;
    await startNow(context, record, known);
  } catch (error) {
    context.log.warn('start deferred', { execution_id: record._id, ...faultOf(error) });
  }
}

/** Runs an execution by its record, in place of a workflow that believes to be further. */
export async function startAnew(context: Context, record: ExecutionRecord): Promise<void> {
  const input = workflowInput(record, await orgFacts(context, record.org_id, null));
  await startExecution(context.engine, input, traceUrlOf(context, record), 'any');
}

interface Opening {
  event: BusEvent;
  agents: Pick<Candidate, 'id' | 'name' | 'version' | 'definition'>[];
  outcomes: EventOutcome[];
  org: OrgFacts;
  /** Whether an endpoint listens for what agents report. */
  watched: boolean;
}

async function openAll(context: Context, { event, agents, outcomes, org, watched }: Opening): Promise<void> {
  await Promise.all(
    agents.map(async (agent) => {
      const id = outcomes.find((outcome) => outcome.agent_id === agent.id)?.execution_id;
      if (!id) return;
      const record = executionRecord({ id, event, agent, now: context.clock.now(), org, watched });
      // The engine takes longer than the store; a workflow that is early waits for its record.
      await Promise.all([openExecution(context.store, record), startStored(context, record, org)]);
    }),
  );
}

/** What is known of an event beside what it says. */
interface Publishing {
  /** The tenant's epoch as the request found it, if a request it is. */
  epoch?: number | null;
  /** The id was made for this very call, so the event cannot have been published before. */
  isFresh?: boolean;
}

/** Publishes an event. The same id again changes nothing and answers what the first time led to. */
export async function publish(
  context: Context,
  event: BusEvent,
  { epoch = null, isFresh = false }: Publishing = {},
): Promise<Published> {
  const [candidates, org, webhooks] = await Promise.all([
    candidatesFor(context, event, epoch),
    orgFacts(context, event.org_id, epoch),
    webhooksOf(context, event.org_id, epoch),
  ]);
  const now = context.clock.now();
  const receivers = await asking(webhooks, event, now);
  const watched = areAgentsWatched(webhooks);
  const judgements = await mapInSlices(candidates, (candidate) => judge(candidate, event, { now, org }));
  const { outcomes, started } = settleMatches(event, candidates, judgements);
  const open = () => openAll(context, { event, agents: started, outcomes, org, watched });
  const recording = recordEvent(context.store, {
    org_id: event.org_id,
    event_id: event.id,
    event_type: event.event_type,
    source_product: event.source_product,
    occurred_at: event.occurred_at,
    received_at: now,
    client_id: event.client_id,
    payload: event.payload,
    sequence: event.sequence ?? null,
    subject: event.subject ?? null,
    resource_id: resourceIdOf(event.subject),
    webhooks: receivers.map(({ _id }) => _id),
    outcomes,
    opening: started.length > 0 || receivers.length > 0,
  });
  // Whether an event is a duplicate is known when it is recorded; executions of a fresh one need not wait for that.
  const [{ record, duplicate }] = await Promise.all([recording, isFresh ? open() : undefined]);
  if (duplicate) return { eventId: event.id, duplicate, executions: startedOf(record.outcomes) };
  if (!isFresh) await open();
  // Agents first: a webhook never delays a start.
  if (receivers.length > 0) context.dispatch.openSoon(record, receivers);
  else if (started.length > 0) context.outbox.openedSoon(record._id);
  return { eventId: event.id, duplicate, executions: startedOf(outcomes) };
}

const eventOf = (record: EventRecord): BusEvent => ({
  id: record.event_id,
  org_id: record.org_id,
  event_type: record.event_type,
  source_product: record.source_product,
  occurred_at: record.occurred_at,
  client_id: record.client_id,
  payload: record.payload,
});

const snapshot = (definition: AgentDefinition, agent: { id: string; name: string; version: number }) => ({
  ...agent,
  definition,
});

/** Opens the deliveries of an event that are missing, and sends them. */
async function reopen(context: Context, record: EventRecord, webhooks: WebhookRecord[]): Promise<void> {
  // Records of before there were webhooks name none.
  const ids = record.webhooks ?? [];
  if (ids.length === 0) return;
  const named = webhooks.filter(({ _id }) => ids.includes(_id));
  for (const delivery of await openFor(context, record, named)) context.dispatch.take(delivery, { event: record });
}

/** Finishes an event that a process left half opened: what it decided then is what is opened now. */
export async function resumeEvent(context: Context, record: EventRecord): Promise<void> {
  const found = await Promise.all(
    startedOf(record.outcomes).map(async ({ agent_id: id }) => {
      const system = systemAgents.find((agent) => agent.id === id);
      if (system) return snapshot(system.definition, { id, name: system.definition.name, version: system.version });
      const own = await findAgent(context.store, record.org_id, id);
      return own ? snapshot(own.definition, { id, name: own.name, version: own.version }) : null;
    }),
  );
  const agents = found.filter((agent) => agent !== null);
  const webhooks = await webhooksOf(context, record.org_id, null);
  await openAll(context, {
    watched: areAgentsWatched(webhooks),
    event: eventOf(record),
    agents,
    outcomes: record.outcomes,
    org: await orgFacts(context, record.org_id, null),
  });
  await reopen(context, record, webhooks);
  await markOpened(context.store, [record._id]);
}

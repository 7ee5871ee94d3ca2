/** Which agents an event starts, and for each of the others the reason it does not. Pure: the same inputs, the same answer. */
import type { AgentDefinition, AgentStatus } from '../contracts/agent';
import type { BusEvent, EventOutcome } from '../contracts/event';
import { evaluate, matchesFilters } from './conditions';
import { executionIdFor } from './ids';

export interface Candidate {
  id: string;
  name: string;
  system: boolean;
  status: AgentStatus;
  version: number;
  definition: AgentDefinition;
}

export interface Matched {
  outcomes: EventOutcome[];
  started: Candidate[];
}

interface Facts {
  now: Date;
  org: { id: string; tier: string; name: string };
}

type Refusal = Pick<EventOutcome, 'outcome' | 'reason'> & Partial<EventOutcome>;

function statusRefusal(candidate: Candidate): Refusal | null {
  if (candidate.status === 'active') return null;
  if (candidate.status === 'draft')
    return { outcome: 'draft', reason: 'The agent is a draft; activate it to let it run.' };
  return {
    outcome: 'paused',
    reason: candidate.status === 'error' ? 'The agent is in error; activate it again.' : 'The agent is paused.',
  };
}

function scopeRefusal(definition: AgentDefinition, clientId: string | null): Refusal | null {
  const listed = clientId !== null && definition.client_ids.includes(clientId);
  const inScope = {
    all: true,
    selected: listed,
    excluded: !listed,
    internal: clientId === null,
  }[definition.client_scope];
  if (inScope) return null;
  return {
    outcome: 'out_of_scope',
    reason: `client_scope "${definition.client_scope}" leaves out ${clientId === null ? 'events without a client' : `client ${clientId}`}.`,
  };
}

/** Outcomes are for people: one event is told about a thousand agents in one record, so each part of it stays small. */
const SHOWN_MAX = 500;
const shortened = (text: string): string => (text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX)}…`);
const worded = (value: unknown): string => shortened(JSON.stringify(value) ?? 'null');

/** The value itself, or the beginning of it as text where it is large. */
function shown(value: unknown): unknown {
  if (typeof value === 'string') return shortened(value);
  return (JSON.stringify(value) ?? '').length <= SHOWN_MAX ? (value ?? null) : worded(value);
}

function ruleRefusal(candidate: Candidate, event: BusEvent, facts: Facts): Refusal | null {
  const filtered = matchesFilters(candidate.definition.trigger.filters ?? [], event.payload, facts.now);
  if (!filtered.holds) {
    return {
      outcome: 'filtered',
      reason: `Filter ${worded(filtered.rule)} does not hold.`,
      failing_rule: shown(filtered.rule),
      actual: shown(filtered.actual),
    };
  }
  const { payload, ...envelope } = event;
  const scope = { event_payload: payload, event: envelope, org: facts.org };
  for (const condition of candidate.definition.conditions) {
    const verdict = evaluate(condition, scope, facts.now);
    if (!verdict.holds) {
      return {
        outcome: 'condition_false',
        reason: `Condition ${worded(verdict.rule)} does not hold.`,
        failing_rule: shown(verdict.rule),
        actual: shown(verdict.actual),
      };
    }
  }
  return null;
}

/** Several agents may want one event; their `conflict_behavior` says which of them give way. */
function conflictRefusal(candidate: Candidate, willing: Candidate[]): Refusal | null {
  const { conflict_behavior: behavior } = candidate.definition;
  const suppressed = (reason: string): Refusal => ({ outcome: 'suppressed', reason });
  if (candidate.system && willing.some((other) => other.definition.conflict_behavior === 'override')) {
    return suppressed('An agent of the org overrides system agents for this event.');
  }
  if (behavior === 'defer' && willing.some((other) => other.definition.conflict_behavior !== 'defer')) {
    return suppressed('The agent defers to the others that match this event.');
  }
  if (behavior !== 'exclusive') return null;
  const first = willing.filter((other) => other.definition.conflict_behavior === 'exclusive').sort(byRank)[0];
  return first === undefined || first.id === candidate.id
    ? null
    : suppressed(`Exclusive agent ${first.id} goes first, by its priority or, where that is the same, by its age.`);
}

const byRank = (one: Candidate, other: Candidate): number =>
  other.definition.priority - one.definition.priority || (one.id < other.id ? -1 : 1);

/** Judges every listening agent. Outcomes are in the order of the candidates. */
export function matchAgents(event: BusEvent, candidates: Candidate[], facts: Facts): Matched {
  const refusals = new Map<string, Refusal>();
  for (const candidate of candidates) {
    const refusal =
      statusRefusal(candidate) ??
      scopeRefusal(candidate.definition, event.client_id) ??
      ruleRefusal(candidate, event, facts);
    if (refusal) refusals.set(candidate.id, refusal);
  }
  const willing = candidates.filter((candidate) => !refusals.has(candidate.id));
  for (const candidate of willing) {
    const refusal = conflictRefusal(candidate, willing);
    if (refusal) refusals.set(candidate.id, refusal);
  }
  return {
    started: candidates.filter((candidate) => !refusals.has(candidate.id)),
    outcomes: candidates.map((candidate) => ({
      agent_id: candidate.id,
      agent_name: candidate.name,
      ...(refusals.get(candidate.id) ?? {
        outcome: 'started' as const,
        reason: 'All filters and conditions hold.',
        execution_id: executionIdFor(candidate.id, `${event.org_id}:${event.id}`, 1),
      }),
    })),
  };
}

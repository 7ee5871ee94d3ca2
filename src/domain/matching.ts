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

const byRank = (one: Candidate, other: Candidate): number =>
  other.definition.priority - one.definition.priority || (one.id < other.id ? -1 : 1);

/** What the agents that would run for an event mean for each other. */
interface Rivals {
  isOverridden: boolean;
  /** Whether all of them defer, so that none has anybody to defer to. */
  allDefer: boolean;
  firstExclusive: string | undefined;
}

function rivalsAmong(willing: readonly Candidate[]): Rivals {
  const behaves = (behavior: AgentDefinition['conflict_behavior']) => (candidate: Candidate) =>
    candidate.definition.conflict_behavior === behavior;
  return {
    isOverridden: willing.some(behaves('override')),
    allDefer: willing.every(behaves('defer')),
    firstExclusive: willing.filter(behaves('exclusive')).sort(byRank)[0]?.id,
  };
}

/** Several agents may want one event; their `conflict_behavior` says which of them give way. */
function conflictRefusal({ id, system, definition }: Candidate, rivals: Rivals): Refusal | null {
  const { conflict_behavior: behavior } = definition;
  const suppressed = (reason: string): Refusal => ({ outcome: 'suppressed', reason });
  if (system && rivals.isOverridden) return suppressed('An agent of the org overrides system agents for this event.');
  if (behavior === 'defer' && !rivals.allDefer)
    return suppressed('The agent defers to the others that match this event.');
  if (behavior !== 'exclusive' || rivals.firstExclusive === id) return null;
  return suppressed(
    `Exclusive agent ${rivals.firstExclusive} goes first, by its priority or, where that is the same, by its age.`,
  );
}

/** Why an agent, looked at alone, does not run for the event; null when it does. Large patterns take half a second. */
export const judge = (candidate: Candidate, event: BusEvent, facts: Facts): Refusal | null =>
  statusRefusal(candidate) ??
  scopeRefusal(candidate.definition, event.client_id) ??
  ruleRefusal(candidate, event, facts);

/** What becomes of all listening agents once each has been judged. Outcomes are in the order of the candidates. */
export function settleMatches(
  event: BusEvent,
  candidates: readonly Candidate[],
  judgements: readonly (Refusal | null)[],
): Matched {
  const rivals = rivalsAmong(candidates.filter((_candidate, index) => !judgements[index]));
  const refusals = candidates.map((candidate, index) => judgements[index] ?? conflictRefusal(candidate, rivals));
  return {
    started: candidates.filter((_candidate, index) => !refusals[index]),
    outcomes: candidates.map((candidate, index) => ({
      agent_id: candidate.id,
      agent_name: candidate.name,
      ...(refusals[index] ?? {
        outcome: 'started' as const,
        reason: 'All filters and conditions hold.',
        execution_id: executionIdFor(candidate.id, `${event.org_id}:${event.id}`, 1),
      }),
    })),
  };
}

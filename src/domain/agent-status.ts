/** The moves an agent's status can make on request; every other move is refused. */
import type { AgentStatus } from '../contracts/agent';

const MOVES: Record<AgentStatus, readonly AgentStatus[]> = {
  draft: ['active'],
  active: ['paused'],
  paused: ['active'],
  error: ['active', 'paused'],
};

/** True when a request may move the status so; staying where it is always may. */
export const mayMove = (from: AgentStatus, to: AgentStatus): boolean => from === to || MOVES[from].includes(to);

/** Where a request may move it from here, for the refusal's message. */
export const movesFrom = (from: AgentStatus): readonly AgentStatus[] => MOVES[from];

/** The agent service's handlers, one per operation. */
import type { Context } from '../../context';
import type { Handlers } from '../../contracts/operation';
import type { AgentOperations } from '../../contracts/operations/agents';
import { agentHandlers } from './agents';
import { approvalHandlers } from './approvals';
import { auditedHandlers } from './audited';
import { catalogHandlers } from './catalog';
import { creditHandlers } from './credits';
import { eventHandlers } from './events';
import { executionHandlers } from './executions';

export const agentServiceHandlers = {
  ...agentHandlers,
  ...executionHandlers,
  ...approvalHandlers,
  ...catalogHandlers,
  ...eventHandlers,
  ...creditHandlers,
  // Last, because they stand in for handlers of the same names.
  ...auditedHandlers,
} satisfies Handlers<AgentOperations, Context>;

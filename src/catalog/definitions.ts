/** Shared by what the platform ships: a definition with the fields that are the same for all of them. */
import type { AgentDefinition } from '../contracts/agent';
import type { Template } from '../contracts/template';

type Common = 'conditions' | 'conflict_behavior' | 'priority' | 'client_scope' | 'client_ids';

/** Where shipped agents write to until the org names its own address. */
export const SERVICE_DESK = 'service-desk@example.com';

/** A complete definition: it runs for every client, beside any other agent. */
export const define = (
  given: Omit<AgentDefinition, Common> & Partial<Pick<AgentDefinition, Common>>,
): AgentDefinition => ({
  conditions: [],
  conflict_behavior: 'additive',
  priority: 0,
  client_scope: 'all',
  client_ids: [],
  ...given,
});

/** A template around a definition; lists show the definition's own name, description and trigger. */
export const template = (
  id: `tpl_${string}`,
  category: Template['category'],
  version: string,
  definition: AgentDefinition,
): Template => ({
  id,
  category,
  name: definition.name,
  description: definition.description,
  version,
  trigger: definition.trigger,
  definition,
});

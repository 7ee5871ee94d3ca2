/** Agent templates: shipped starting points that become a draft when cloned. */
import { AgentName, type AgentDefinition, type Trigger } from './agent';
import { Closed, Enum, Reference, Type, type Static } from './schema';

export const TEMPLATE_CATEGORIES = ['operations', 'security', 'billing', 'hr', 'custom'] as const;

export const Template = Type.Object(
  {
    id: Type.String(),
    category: Enum(TEMPLATE_CATEGORIES),
    name: Type.String(),
    description: Type.String(),
    version: Type.String({ pattern: '^\\d+\\.\\d+\\.\\d+$' }),
    trigger: Reference<Trigger>('Trigger'),
    definition: Reference<AgentDefinition>('AgentDefinition'),
  },
  { $id: 'Template' },
);
export type Template = Static<typeof Template>;

export const CloneTemplate = Closed({ name: Type.Optional(AgentName) }, { $id: 'CloneTemplate' });

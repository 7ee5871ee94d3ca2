/** A small catalog and a minimal definition that the tests of definitions vary. */
import type { AgentDefinition } from '../../../src/contracts/agent';
import type { Condition, Filter } from '../../../src/contracts/condition';
import type { EventCatalogEntry } from '../../../src/contracts/event';
import type { Finding } from '../../../src/contracts/problem';
import type { Step, StepOf } from '../../../src/contracts/step';
import { checkDefinition } from '../../../src/domain/definition/check';

const entry = (product: string, type: string, sample: Record<string, unknown>): EventCatalogEntry => ({
  id: `${product}:${type}`,
  source_product: product,
  event_type: type,
  category: 'service_desk',
  display_name: type,
  description: type,
  filterable_fields: [
    { path: 'title', label: 'Title', type: 'string' },
    { path: 'priority', label: 'Priority', type: 'enum', enum_values: ['low', 'high', 'critical'] },
    { path: 'count', label: 'Count', type: 'integer' },
    { path: 'amount', label: 'Amount', type: 'money' },
    { path: 'vip', label: 'VIP', type: 'boolean' },
    { path: 'due_at', label: 'Due at', type: 'datetime' },
    { path: 'tags', label: 'Tags', type: 'array' },
    { path: 'client_id', label: 'Client', type: 'id' },
    { path: 'contact.email', label: 'Mail', type: 'string' },
  ],
  sample_payload: {
    title: 'a',
    description: 'b',
    contact: { email: 'a@b.c', phone: null },
    items: [{ sku: 'x' }],
    answers: { model: 'T14' },
    actor: { type: 'user', id: 'usr_ada' },
    tags: ['a'],
    ...sample,
  },
});

const all = [
  entry('psa', 'ticket.created', {}),
  entry('psa', 'ticket.updated', { changed: ['title'], previous: { title: 'c' } }),
  entry('crm', 'deal.stalled', {}),
];
const catalog = { all, find: (product: string, type: string) => all.find(({ id }) => id === `${product}:${type}`) };
const compiles = (schema: Record<string, unknown>): string | null =>
  schema['type'] === 'object' && !schema['broken'] ? null : 'It is broken.';

export const note: StepOf<'set_variables'> = { type: 'set_variables', id: 'note', values: { seen: true } };
export const base: AgentDefinition = {
  name: 'Test',
  description: '',
  category: 'custom',
  trigger: { type: 'bus_event', event_type: 'ticket.created', source_product: 'psa' },
  conditions: [],
  steps: [note],
  conflict_behavior: 'additive',
  priority: 0,
  client_scope: 'all',
  client_ids: [],
};
export const check = (change: Partial<AgentDefinition>): Finding[] =>
  checkDefinition({ ...base, ...change }, catalog, compiles);
export const checkFilter = (filter: Filter): Finding[] => check({ trigger: { ...base.trigger, filters: [filter] } });
export const checkRule = (condition: Condition): Finding[] => check({ conditions: [condition] });
export const checkBody = (body: string, ...before: Step[]): Finding[] =>
  check({ steps: [...before, { type: 'notification', id: 'tell', channel: 'sms', recipients: ['+15550100'], body }] });
export const brief = (findings: Finding[]): string[] =>
  findings.map(({ path, code, suggestion }) => [path, code, suggestion].filter(Boolean).join(' '));

export const triage: Step = {
  type: 'ai_reason',
  id: 'triage',
  prompt: 'Sort {{event_payload.title}}',
  output_schema: {
    type: 'object',
    properties: {
      label: { type: 'string', enum: ['outage', 'request'] },
      score: { type: 'number' },
      sure: { type: ['boolean', 'null'] },
      found: { type: 'array', items: { type: 'object', properties: { name: { type: 'string' } } } },
      free: { oneOf: [{ type: 'object' }] },
    },
  },
};

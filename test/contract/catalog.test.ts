import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020';
import { AgentDefinition, CreateAgent, Trigger } from '../../src/contracts/agent';
import { Condition, Filter } from '../../src/contracts/condition';
import { EVENT_CATEGORIES, EventCatalogEntry, type FieldType } from '../../src/contracts/event';
import type { TSchema } from '../../src/contracts/schema';
import { STEP_SCHEMAS, STEP_TYPES } from '../../src/contracts/step';
import { Template, TEMPLATE_CATEGORIES } from '../../src/contracts/template';
import { eventCatalog } from '../../src/catalog/events';
import { systemAgents } from '../../src/catalog/system-agents';
import { templates } from '../../src/catalog/templates';
import { instantOf, matchesFilters, pathsAsked } from '../../src/domain/conditions';
import { checkDefinition } from '../../src/domain/definition/check';
import { readPath } from '../../src/domain/paths';
import { placeholdersOf } from '../../src/domain/placeholders';
import { flattenSteps, planOf } from '../../src/domain/plan';
import { resourceEvents } from '../../src/resources/events';

const ajv = new Ajv2020({ discriminator: true, strict: true, strictTypes: false, allErrors: true });
ajv.addFormat('date-time', (text: string) => instantOf(text) !== undefined);
for (const schema of [...STEP_SCHEMAS, Filter, Condition, Trigger, AgentDefinition]) ajv.addSchema(schema);

const problems = (validate: ValidateFunction, value: unknown): string[] =>
  validate(value) ? [] : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);

const compiler = new Ajv2020({ strict: false });
function compiles(schema: Record<string, unknown>): string | null {
  try {
    compiler.compile(schema);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const textsIn = (value: unknown): string[] => {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
};

/** By id: what the product's own rows put into their events. What is written by hand counts for events from outside. */
const emitted = new Map(resourceEvents.map(({ id, sample_payload: payload }) => [id, payload]));

/** The payload fields that filters, conditions and placeholders of a definition name. */
function askedOf(definition: AgentDefinition): string[] {
  const { trigger, conditions, steps } = definition;
  const placeholders = textsIn(steps).flatMap(placeholdersOf);
  const paths = [
    ...placeholders.map(({ path }) => path),
    ...planOf(definition).asked,
    ...conditions.flatMap(pathsAsked),
  ];
  const inPayload = paths.filter((path) => path.startsWith('event_payload.'));
  return [...(trigger.filters ?? []).map(({ field }) => `event_payload.${field}`), ...inPayload];
}

/** Those that the trigger's event does not carry, or of which its sample knows no value. */
function missingIn(definition: AgentDefinition): string[] {
  const { event_type: type, source_product: product } = definition.trigger;
  const payload = emitted.get(`${product}:${type}`) ?? eventCatalog.find(product, type)?.sample_payload;
  const scope = { event_payload: payload };
  return [...new Set(askedOf(definition))].filter((path) => (readPath(scope, path) ?? null) === null);
}

const shipped: [string, AgentDefinition][] = [
  ...systemAgents.map(({ id, definition }): [string, AgentDefinition] => [id, definition]),
  ...templates.map(({ id, definition }): [string, AgentDefinition] => [id, definition]),
];
const events = eventCatalog.all.map((entry): [string, EventCatalogEntry] => [entry.id, entry]);

describe.each(shipped)('%s', (_, definition) => {
  test('passes the JSON schemas an author must pass', () => {
    expect(problems(ajv.compile(AgentDefinition), definition)).toEqual([]);
    const createAgent = ajv.getSchema('CreateAgent') ?? ajv.compile(CreateAgent as TSchema);
    expect(problems(createAgent, definition)).toEqual([]);
  });

  test('passes the checks of an activation', () => {
    expect(checkDefinition(definition, eventCatalog, compiles)).toEqual([]);
  });

  test('asks its trigger event for nothing that no event carries', () => {
    expect(missingIn(definition)).toEqual([]);
  });

  test('carries the fields the server would fill in', () => {
    expect(definition).toMatchObject({
      conflict_behavior: 'additive',
      client_scope: 'all',
      client_ids: [],
      priority: 0,
    });
  });
});

test('an agent that asks for what its event does not carry is found, whatever the written catalog says', () => {
  const [, definition] = shipped.find(([id]) => id === 'agt_system_backup_followup') ?? [];
  if (!definition) throw new Error('the backup agent does not ship any more');
  const [step] = definition.steps;
  const asking = (field: string): AgentDefinition => ({
    ...definition,
    trigger: { ...definition.trigger, filters: [{ field, operator: 'exists' }] },
    conditions: [{ field: `event_payload.${field}_too`, operator: 'exists' }],
    steps: [{ ...step, prompt: `{{event_payload.${field}_as_well}}` } as AgentDefinition['steps'][number]],
  });
  const paths = ['vault', 'vault_as_well', 'vault_too'].map((field) => `event_payload.${field}`);
  expect(missingIn(asking('vault')).toSorted()).toEqual(paths);
  // `duration_s` of a succeeded backup is known from outside; our own jobs say it otherwise.
  const trigger = { ...definition.trigger, event_type: 'job.succeeded' };
  const filters: Filter[] = [{ field: 'duration_s', operator: 'gt', value: 0 }];
  expect(missingIn({ ...definition, steps: [], trigger: { ...trigger, filters } })).toEqual([
    'event_payload.duration_s',
  ]);
});

describe('system agents', () => {
  test('have ids and versions of their own', () => {
    expect(systemAgents.length).toBeGreaterThanOrEqual(3);
    expect(new Set(systemAgents.map(({ id }) => id)).size).toBe(systemAgents.length);
    for (const { id, version } of systemAgents) {
      expect(id).toMatch(/^agt_system_[a-z_]+$/);
      expect(version).toBeGreaterThan(0);
    }
  });

  test('that run for new tickets send nothing, ask nobody and use the cheapest model once', () => {
    const onCreated = systemAgents.filter(({ definition }) => definition.trigger.event_type === 'ticket.created');
    expect(onCreated).not.toEqual([]);
    for (const { definition } of onCreated) {
      const steps = flattenSteps(definition.steps).map(({ step }) => step);
      expect(steps.every(({ type }) => type === 'ai_reason' || type === 'set_variables')).toBe(true);
      expect(steps.filter(({ type }) => type === 'ai_reason')).toEqual([expect.objectContaining({ tier: 'quick' })]);
    }
  });

  test.each(['api', 'phone', 'rmm', 'agent'])('leave new tickets from %s alone', (source) => {
    const running = systemAgents.filter(
      ({ definition: { trigger } }) =>
        trigger.event_type === 'ticket.created' &&
        matchesFilters(trigger.filters ?? [], { source, priority: 'critical' }, new Date(0)).holds,
    );
    expect(running).toEqual([]);
  });

  test('never call a model dearer than quick and never an address outside the house', () => {
    for (const { definition } of systemAgents) {
      for (const { step } of flattenSteps(definition.steps)) {
        if (step.type === 'ai_reason') expect(step.tier).toBe('quick');
        if (step.type === 'notification') expect(step.recipients).toEqual(['service-desk@example.com']);
        expect(step.type).not.toBe('http_request');
      }
    }
  });
});

describe('templates', () => {
  test('pass their schema', () => {
    for (const template of templates) expect(problems(ajv.compile(Template), template)).toEqual([]);
  });

  test('cover all categories, in their order', () => {
    const order = templates.map(({ category }) => TEMPLATE_CATEGORIES.indexOf(category));
    expect([...new Set(order)]).toEqual(TEMPLATE_CATEGORIES.map((_, index) => index));
    expect(order).toEqual(order.toSorted((one, other) => one - other));
  });

  test('have ids of their own and show what their definition holds', () => {
    expect(new Set(templates.map(({ id }) => id)).size).toBe(templates.length);
    for (const { id, trigger, name, description, definition } of templates) {
      expect(id).toMatch(/^tpl_[a-z_]+$/);
      expect({ trigger, name, description }).toEqual({
        trigger: definition.trigger,
        name: definition.name,
        description: definition.description,
      });
    }
  });

  test('show every type of step', () => {
    const used = templates.flatMap(({ definition }) => flattenSteps(definition.steps).map(({ step }) => step.type));
    expect([...new Set(used)].sort()).toEqual([...STEP_TYPES].sort());
  });
});

const FITS: Record<FieldType, (value: unknown) => boolean> = {
  string: (value) => typeof value === 'string' && value !== '',
  id: (value) => typeof value === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(value),
  enum: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isSafeInteger(value),
  money: (value) => Number.isSafeInteger(value),
  boolean: (value) => typeof value === 'boolean',
  datetime: (value) => instantOf(value) !== undefined,
  array: (value) => Array.isArray(value) && value.length > 0,
};

describe.each(events)('%s', (id, entry) => {
  test('passes the schema of a catalog entry', () => {
    expect(problems(ajv.compile(EventCatalogEntry), entry)).toEqual([]);
    expect(id).toBe(`${entry.source_product}:${entry.event_type}`);
    expect(eventCatalog.find(entry.source_product, entry.event_type)).toBe(entry);
  });

  test('has a sample that suits every field', () => {
    expect(entry.filterable_fields.length).toBeGreaterThan(0);
    for (const { path, type, enum_values: values } of entry.filterable_fields) {
      const value = readPath(entry.sample_payload, path);
      // An optional field may be empty in the sample, as it may be in a real event.
      expect({ path, value, fits: value === null || FITS[type](value) }).toEqual({ path, value, fits: true });
      expect({ path, hasValues: values !== undefined }).toEqual({ path, hasValues: type === 'enum' });
      if (values && value !== null) expect(values).toContain(value);
    }
  });

  test('has names a person can read', () => {
    for (const { label } of entry.filterable_fields) expect(label).toMatch(/^[A-Z]/);
    expect(entry.description).toMatch(/\.$/);
  });
});

describe('the catalog', () => {
  test('has no entry twice and every category', () => {
    expect(new Set(eventCatalog.all.map(({ id }) => id)).size).toBe(eventCatalog.all.length);
    expect(new Set(eventCatalog.all.map(({ category }) => category))).toEqual(new Set(EVENT_CATEGORIES));
  });

  test('has the ticket events with the whole ticket', () => {
    const names = [
      'created',
      'updated',
      'escalated',
      'sla_warning',
      'sla_breached',
      'assigned',
      'status_changed',
      'customer_replied',
      'closed',
    ];
    for (const name of names) {
      const sample = eventCatalog.find('psa', `ticket.${name}`)?.sample_payload;
      expect(sample).toMatchObject({
        ticket_id: expect.any(String) as string,
        ticket_number: expect.any(String) as string,
      });
      expect(Object.keys(sample ?? {})).toEqual(
        expect.arrayContaining(['title', 'subject', 'description', 'priority', 'tags', 'updated_at']),
      );
    }
    expect(eventCatalog.all.filter(({ source_product: product }) => product === 'psa').length).toBeGreaterThanOrEqual(
      11,
    );
    expect(eventCatalog.find('psa', 'ticket.nothing')).toBeUndefined();
  });
});

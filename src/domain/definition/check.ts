/** Checks what a JSON schema cannot: that the parts of a definition fit each other and the events that exist. */
import type { AgentDefinition } from '../../contracts/agent';
import { TIERS } from '../../contracts/principal';
import type { Finding } from '../../contracts/problem';
import { WEEKDAY_NAMES } from '../clock-facts';
import { below, Findings } from './findings';
import { checkCondition } from './rules';
import { object, value, type Shape } from './shapes';
import { checkSteps } from './steps';
import { checkTrigger, type Catalog } from './trigger';

const EVENT: Shape = object({
  id: value('id'),
  event_type: value('string'),
  source_product: value('string'),
  occurred_at: value('datetime'),
  client_id: value('id'),
});

/** What rules can read beside the event's payload. */
const RULE_ROOTS = {
  event: EVENT,
  now: object({
    hour: value('integer'),
    weekday: value('enum', WEEKDAY_NAMES),
    local_hour: value('integer'),
    local_weekday: value('enum', WEEKDAY_NAMES),
    iso: value('datetime'),
  }),
  org: object({ id: value('id'), name: value('string'), tier: value('enum', TIERS), timezone: value('string') }),
};

/** What texts can read beside the event's payload. */
const TEXT_ROOTS = {
  event: EVENT,
  agent: object({ id: value('id'), name: value('string') }),
  execution: object({ id: value('id'), url: value('string') }),
  org: object({ id: value('id'), name: value('string'), timezone: value('string') }),
};

function checkClients({ client_scope: scope, client_ids: ids }: AgentDefinition, findings: Findings): void {
  const needsIds = scope === 'selected' || scope === 'excluded';
  if (needsIds === ids.length > 0) return;
  findings.add({
    path: '/client_ids',
    code: needsIds ? 'missing_client_ids' : 'unexpected_client_ids',
    message: needsIds
      ? `client_scope "${scope}" needs the ids of the clients in client_ids.`
      : `client_scope "${scope}" takes no client_ids; leave them out, or use "selected" or "excluded".`,
  });
}

/**
 * Everything that is wrong with a definition that passed its JSON schema, at most 50 findings. `compiles` answers why
 * a JSON schema cannot be used, or null; the validator lives outside the domain.
 */
export function checkDefinition(
  definition: AgentDefinition,
  catalog: Catalog,
  compiles: (schema: Record<string, unknown>) => string | null,
): Finding[] {
  const findings = new Findings();
  const payload = checkTrigger(definition.trigger, catalog, findings);
  const ruleRoots = { event_payload: payload, ...RULE_ROOTS };
  const textRoots = { event_payload: payload, ...TEXT_ROOTS };
  definition.conditions.forEach((condition, index) =>
    checkCondition(condition, below('/conditions', index), object(ruleRoots), findings),
  );
  checkSteps(definition.steps, { findings, ruleRoots, textRoots, compiles });
  checkClients(definition, findings);
  return findings.all;
}

/** What a change means: the record it leads to, whether its state may change so, and the events it emits. */
import type { BusEvent } from '../../contracts/event';
import type { Principal } from '../../contracts/principal';
import { problem, type Finding } from '../../contracts/problem';
import { derivedId } from '../../domain/ids';
import type { AnyRecord, ExternalRef, Resource } from '../../resources/resource';
import type { ChangeLabels } from './references';

const YEAR_MAX = 9_999;
const NO_LABELS: ChangeLabels = { before: {}, after: {} };

/** A change of one record, complete enough to tell the world. */
export interface Change {
  kind: 'create' | 'update' | 'delete';
  before: AnyRecord | null;
  after: AnyRecord;
  principal: Principal;
  labels?: ChangeLabels;
}

/** A moment in any offset, as the same moment in UTC with milliseconds; null when it leaves the calendar. */
function utc(text: string): string | null {
  const moment = new Date(text);
  const year = moment.getUTCFullYear();
  return year >= 0 && year <= YEAR_MAX ? moment.toISOString() : null;
}

/** The body's fields as a record holds them: moments in UTC, external references once each. */
export function valuesOf(row: Resource, body: Record<string, unknown>): Record<string, unknown> {
  const findings: Finding[] = [];
  const values = Object.entries(body).map(([name, value]) => {
    if (name === 'externalRefs') return [name, onceEach(value as ExternalRef[])];
    if (row.fields[name]?.traits.kind !== 'datetime' || typeof value !== 'string') return [name, value];
    const moment = utc(value);
    if (moment === null)
      findings.push({ path: `/${name}`, code: 'format', message: 'must be a date-time in the years 0000 to 9999' });
    return [name, moment];
  });
  const [first] = findings;
  if (first) throw problem('validation_error', { message: `${first.path}: ${first.message}`, findings });
  return Object.fromEntries(values) as Record<string, unknown>;
}

const onceEach = (refs: ExternalRef[]): ExternalRef[] => [
  ...new Map(refs.map(({ system, id }) => [`${system}:${id}`, { system, id }])).values(),
];

/** What a new record holds where a create says nothing. */
export const defaultsOf = (row: Resource): Record<string, unknown> =>
  Object.fromEntries(Object.entries(row.fields).map(([name, { traits }]) => [name, traits.fallback]));

const isSame = (one: unknown, other: unknown): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other);

/** True when no field differs; such a change is answered without a write and without an event. */
export const isUnchanged = (row: Resource, before: AnyRecord, after: AnyRecord): boolean =>
  [...Object.keys(row.fields), 'externalRefs'].every((name) => isSame(before[name], after[name]));

/** Refuses another value for a field that is said once. */
function checkFixed({ fields, nouns }: Resource, before: AnyRecord, after: AnyRecord): void {
  const changed = Object.entries(fields).filter(
    ([name, { traits }]) => traits.isFixed && !isSame(before[name], after[name]),
  );
  if (changed.length === 0) return;
  const names = changed.map(([name]) => name);
  throw problem('conflict', {
    message: `The ${names.join(', ')} of this ${nouns[0]} cannot be changed after it was created.`,
    facts: { fields: names },
  });
}

/** Refuses a move that the row's state machine does not know, and another value for what is said once. */
export function checkTransition(row: Resource, before: AnyRecord, after: AnyRecord, now: Date): void {
  checkFixed(row, before, after);
  const { states, nouns } = row;
  if (!states) return;
  const from = String(before[states.field]);
  const to = String(after[states.field]);
  const allowed = states.from[from]?.(before, now);
  if (from === to || !allowed || allowed.includes(to)) return;
  const hint = allowed.length > 0 ? `only to ${allowed.join(', ')}` : 'no longer to anything else';
  throw problem('conflict', {
    message: `The ${states.field} of this ${nouns[0]} cannot change from ${from} to ${to}; it can change ${hint}.`,
    facts: { field: states.field, from, to, allowed },
  });
}

/** The payload's fields that a change touched, in the payload's own spelling: what filters such as `changed` look at. */
function difference(before: Record<string, unknown>, after: Record<string, unknown>) {
  const changed = Object.keys(after).filter((name) => name !== 'updated_at' && !isSame(before[name], after[name]));
  return { changed, previous: Object.fromEntries(changed.map((name) => [name, before[name] ?? null])) };
}

const actorOf = ({ kind, id }: Principal) => ({ type: kind === 'key' ? 'api_key' : 'user', id });

function payloadOf(
  row: Resource,
  { kind, before, after, principal, labels = NO_LABELS }: Change,
): Record<string, unknown> {
  const payload = row.payload(after, labels.after);
  const actor = actorOf(principal);
  if (kind !== 'update' || !before) return { ...payload, actor };
  return { ...payload, ...difference(row.payload(before, labels.before), payload), actor };
}

/** Every event of a change. Their ids follow from record, version and type: a repeated hand-over changes nothing. */
export function eventsOf(row: Resource, change: Change): BusEvent[] {
  const { kind, before, after, principal } = change;
  const from = before ?? after;
  const rules = Object.entries(row.events).filter(([, rule]) => rule.on === kind && (rule.when?.(from, after) ?? true));
  if (rules.length === 0) return [];
  const payload = payloadOf(row, change);
  return rules.map(([name, rule]) => {
    const type = `${row.singular}.${name}`;
    return {
      id: derivedId('evt', after.id, after.version, type),
      org_id: principal.orgId,
      event_type: type,
      source_product: row.eventProduct,
      occurred_at: after.updatedAt,
      client_id: row.clientId(after),
      payload: { ...payload, ...rule.facts?.(from, after) },
    };
  });
}

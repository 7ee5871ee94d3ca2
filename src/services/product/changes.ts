/** What a change means: the record it leads to, and whether its row's rules let it lead there. */
import { problem, type Finding } from '../../contracts/problem';
import { CUSTOM_FIELDS_MAX, mergedCustomFields } from '../../resources/custom-fields';
import { isSame } from '../../resources/difference';
import type { AnyRecord, ExternalRef, Labels, Refusal, Resource, States } from '../../resources/resource';

const YEAR_MAX = 9_999;

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

/** The record with the values a client sent. Custom fields are merged key by key; too many of them are refused. */
export function withValues(record: AnyRecord, values: Record<string, unknown>): AnyRecord {
  const customFields = mergedCustomFields(record.customFields, values['customFields']);
  const count = Object.keys(customFields).length;
  if (count <= CUSTOM_FIELDS_MAX) return { ...record, ...values, customFields };
  const message = `a record has at most ${CUSTOM_FIELDS_MAX} custom fields, not ${count}; remove some with null`;
  throw problem('validation_error', {
    message: `/customFields: ${message}`,
    findings: [{ path: '/customFields', code: 'maxProperties', message }],
  });
}

const onceEach = (refs: ExternalRef[]): ExternalRef[] => [
  ...new Map(refs.map(({ system, id }) => [`${system}:${id}`, { system, id }])).values(),
];

/** What a new record holds where a create says nothing. */
export const defaultsOf = (row: Resource): Record<string, unknown> =>
  Object.fromEntries(Object.entries(row.fields).map(([name, { traits }]) => [name, traits.fallback]));

/** True when no field differs; such a change is answered without a write and without an event. */
export const isUnchanged = (row: Resource, before: AnyRecord, after: AnyRecord): boolean =>
  [...Object.keys(row.fields), 'externalRefs', 'customFields'].every((name) => isSame(before[name], after[name]));

const changedFields = ({ fields }: Resource, before: AnyRecord, after: AnyRecord): string[] =>
  Object.keys(fields).filter((name) => !isSame(before[name], after[name]));

/** Refuses another value for a field that is said once. */
function checkFixed(row: Resource, before: AnyRecord, after: AnyRecord): void {
  const names = changedFields(row, before, after).filter((name) => row.fields[name]?.traits.isFixed);
  if (names.length === 0) return;
  throw problem('conflict', {
    message: `The ${names.join(', ')} of this ${row.nouns[0]} cannot be changed after it was created.`,
    facts: { fields: names },
  });
}

/** Refuses a change of a record that its row has closed for good; external references stay open to syncs. */
function checkFrozen(row: Resource, { before, after }: Move, now: Date): void {
  const reason = row.frozen(before);
  if (reason === null) return;
  const names = changedFields(row, before, after);
  if (names.length === 0) return;
  const { field = '', from: moves = {} } = row.states ?? {};
  const [from, to] = [String(before[field]), String(after[field])];
  const move = names.includes(field) ? { field, from, to, allowed: moves[from]?.(before, now) ?? [] } : {};
  throw problem('conflict', { message: reason, facts: { fields: names, ...move } });
}

/** Refuses the deletion of a record that its row keeps. */
export function checkKept(row: Resource, record: AnyRecord): void {
  const reason = row.kept(record);
  if (reason !== null) throw problem('conflict', { message: reason });
}

/** Refuses a new record in a state that records only reach. */
export function checkInitial({ states, nouns }: Resource, record: AnyRecord): void {
  const state = String(states ? record[states.field] : '');
  if (!states?.initial || states.initial.includes(state)) return;
  const hint = states.hint ? ` ${states.hint}` : '';
  throw problem('conflict', {
    message: `A new ${nouns[0]} cannot have the ${states.field} ${state}, only ${states.initial.join(', ')}.${hint}`,
    facts: { field: states.field, to: state, allowed: states.initial },
  });
}

/** Refuses what the row's own rule refuses. */
export function checkRule(row: Resource, after: AnyRecord, before: AnyRecord | null, labels: Labels): void {
  const refusal: Refusal | null = row.refuse(after, before, labels);
  if (!refusal) return;
  const { kind, field, message } = refusal;
  if (kind === 'conflict') throw problem('conflict', { message, facts: { field } });
  throw problem('validation_error', {
    message: `/${field}: ${message}`,
    findings: [{ path: `/${field}`, code: 'rule', message }],
  });
}

/** A change of a record, and the state moves it may make where they are not the row's own. */
interface Move {
  before: AnyRecord;
  after: AnyRecord;
  from?: States<AnyRecord>['from'] | undefined;
}

/** Refuses a move that the row's state machine does not know, and another value for what is said once. */
export function checkTransition(row: Resource, { before, after, from: special }: Move, now: Date): void {
  if (!special) checkFrozen(row, { before, after }, now);
  checkFixed(row, before, after);
  if (row.states) checkState(row, row.states, { before, after, from: special }, now);
}

/** An action has states of its own that it leads from; that it does not from this one says nothing of other changes. */
const outOfPlace = (noun: string, field: string, { from, places }: { from: string; places: string[] }) =>
  problem('conflict', {
    message: `The ${field} of this ${noun} is ${from}; this can be done only while it is ${places.join(' or ')}.`,
    facts: { field, from, allowed: places },
  });

function checkState({ nouns }: Resource, states: States<AnyRecord>, move: Move, now: Date): void {
  const { before, after, from: special } = move;
  const from = String(before[states.field]);
  const to = String(after[states.field]);
  const allowed = special ? (special[from]?.(before, now) ?? []) : states.from[from]?.(before, now);
  if (!allowed || allowed.includes(to) || (from === to && !special)) return;
  if (special) throw outOfPlace(nouns[0], states.field, { from, places: Object.keys(special) });
  const way = allowed.length > 0 ? `only to ${allowed.join(', ')}` : 'no longer to anything else';
  const hint = states.hint ? ` ${states.hint}` : '';
  throw problem('conflict', {
    message: `The ${states.field} of this ${nouns[0]} cannot change from ${from} to ${to}; it can change ${way}.${hint}`,
    facts: { field: states.field, from, to, allowed },
  });
}

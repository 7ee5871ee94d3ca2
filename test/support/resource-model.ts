/**
 * The resource engine as a map, told again without the store and the handlers. What a row says for itself is taken from
 * the row: `computed`, `refuse`, `frozen`, `kept`, `states`, what an action changes and when an event is emitted; the
 * tests of the write rules and of the events show those by hand. All that is common to the rows is told here.
 */
import type { AnyRecord, ExternalRef, Resource, States } from '../../src/resources/resource';
import type { Values } from './arbitraries';

/** A record or its tombstone, and the types of the events that its versions must have told. */
export interface Entry {
  record: AnyRecord;
  isDeleted: boolean;
  told: { sequence: number; type: string }[];
}

/** What a write must be answered with; `null` leaves the record as it is. */
export type Verdict = { status: 200 | 201 | 204; after: AnyRecord | null } | { status: 400 | 404 | 409 | 412 };

type Kind = 'create' | 'update' | 'delete' | 'restore';

/** What every record has beside its own fields; it stays open where the rest is closed. */
const SHARED = ['externalRefs', 'customFields'];

const json = (value: unknown): string => JSON.stringify(value);
const refKey = ({ system, id }: ExternalRef): string => `${system}:${id}`;

/** Moments in UTC with milliseconds, external references once each. */
export function asKept(row: Resource, body: Values): Values {
  const entries = Object.entries(body).map(([name, value]): [string, unknown] => {
    if (name === 'externalRefs') {
      const refs = value as ExternalRef[];
      return [name, refs.filter((ref, index) => refs.findIndex((other) => refKey(other) === refKey(ref)) === index)];
    }
    const isMoment = row.fields[name]?.traits.kind === 'datetime' && typeof value === 'string';
    return [name, isMoment ? new Date(value).toISOString() : value];
  });
  return Object.fromEntries(entries);
}

/** Custom fields change one by one; null takes one away. */
function merged(before: AnyRecord['customFields'], sent: unknown): AnyRecord['customFields'] {
  const all = { ...before, ...(sent as Values | undefined) };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null)) as AnyRecord['customFields'];
}

/** A request on a record that exists or not. */
export interface Asked {
  id: string;
  /** The versions that `If-Match` names; null without the header, `*` for any. */
  ifMatch: number[] | '*' | null;
}

interface Move {
  changed: string[];
  special: States<AnyRecord>['from'] | undefined;
}

export class Model {
  readonly entries = new Map<string, Entry>();
  readonly row: Resource;
  private readonly labels: (record: AnyRecord) => Record<string, string | null>;

  constructor(row: Resource, labels: (record: AnyRecord) => Record<string, string | null>) {
    this.row = row;
    this.labels = labels;
  }

  living(): AnyRecord[] {
    return [...this.entries.values()].filter(({ isDeleted }) => !isDeleted).map(({ record }) => record);
  }

  private namesGone(record: AnyRecord, before: AnyRecord | null): boolean {
    const own = Object.entries(this.row.fields).filter(([, { traits }]) => traits.target === this.row.key);
    const ids = new Set(this.living().map(({ id }) => id));
    // Every other record that is named was made for the test, and stays.
    return own.some(([name]) => {
      const id = record[name];
      return typeof id === 'string' && id !== before?.[name] && !ids.has(id);
    });
  }

  /** Its place among the living: that of a singleton, and the names in other systems. */
  private isTaken({ id, externalRefs }: AnyRecord): boolean {
    if (this.row.isSingleton && this.living().some((other) => other.id !== id)) return true;
    const taken = new Set(this.living().flatMap((other) => (other.id === id ? [] : other.externalRefs.map(refKey))));
    return externalRefs.some((ref) => taken.has(refKey(ref)));
  }

  private fields(): string[] {
    return [...Object.keys(this.row.fields), ...SHARED];
  }

  private refuses(after: AnyRecord, before: AnyRecord | null): 400 | 409 | null {
    const refusal = this.row.refuse(after, before, this.labels(after));
    if (refusal === null) return null;
    return refusal.kind === 'conflict' ? 409 : 400;
  }

  /** `answered` has what only the server knows: id, moment, creator and counted numbers. */
  create(body: Values, answered: AnyRecord | null): Verdict {
    const { row } = this;
    const fallbacks = Object.entries(row.fields).map(([name, { traits }]) => [name, traits.fallback]);
    const made = {
      id: '',
      version: 1,
      createdAt: '2026-11-20T00:00:00.000Z',
      updatedAt: '2026-11-20T00:00:00.000Z',
      createdBy: '',
      deletedAt: null,
    };
    const given = answered ? Object.fromEntries(Object.keys(made).map((name) => [name, answered[name]])) : {};
    const draft = {
      ...made,
      ...Object.fromEntries(fallbacks),
      externalRefs: [],
      ...asKept(row, body),
      customFields: merged({}, body['customFields']),
      ...given,
    } as AnyRecord;
    const state = String(row.states ? draft[row.states.field] : '');
    if (row.states?.initial && !row.states.initial.includes(state)) return { status: 409 };
    const refused = this.refused(draft, null);
    if (refused) return { status: refused };
    for (const [name, { traits }] of Object.entries(row.fields))
      if (traits.countsFrom !== null) draft[name] = answered?.[name];
    const after: AnyRecord = { ...draft, ...row.computed(draft, null, draft.createdAt) };
    return { status: 201, after };
  }

  private precondition(asked: Asked, version: number): boolean {
    return asked.ifMatch === null || asked.ifMatch === '*' || asked.ifMatch.includes(version);
  }

  private refused(after: AnyRecord, before: AnyRecord | null): 400 | 409 | null {
    if (this.namesGone(after, before)) return 400;
    return this.refuses(after, before) ?? (this.isTaken(after) ? 409 : null);
  }

  /** Frozen records, and fields that are said once. */
  private isOpen(before: AnyRecord, { changed, special }: Move): boolean {
    const own = changed.filter((name) => !SHARED.includes(name));
    if (!special && this.row.frozen(before) !== null && own.length > 0) return false;
    return !own.some((name) => this.row.fields[name]?.traits.isFixed);
  }

  /** The state machine: the row's, or the action's own. */
  private mayMove(before: AnyRecord, wanted: AnyRecord, { special }: Move): boolean {
    const { states } = this.row;
    if (!states) return true;
    const from = String(before[states.field]);
    const to = String(wanted[states.field]);
    const allowed = (special ?? states.from)[from]?.(before, new Date());
    if (special) return allowed?.includes(to) ?? false;
    return !allowed || allowed.includes(to) || from === to;
  }

  /** A patch, or what an action makes of the record; `now` is the moment of the answer. */
  change(asked: Asked, values: (before: AnyRecord) => Values, more: { now: string; act?: string }): Verdict {
    const { row } = this;
    const entry = this.entries.get(asked.id);
    if (!entry || entry.isDeleted) return { status: 404 };
    const before = entry.record;
    if (!this.precondition(asked, before.version)) return { status: 412 };
    const wanted: AnyRecord = {
      ...before,
      ...asKept(row, values(before)),
      customFields: merged(before.customFields, values(before)['customFields']),
    };
    const changed = this.fields().filter((name) => json(before[name]) !== json(wanted[name]));
    const special = more.act === undefined ? undefined : row.actions[more.act]?.from;
    const move = { changed, special };
    if (!this.isOpen(before, move) || !this.mayMove(before, wanted, move)) return { status: 409 };
    if (changed.length === 0) return { status: 200, after: null };
    const refused = this.refused(wanted, before);
    if (refused) return { status: refused };
    const after = { ...wanted, ...row.computed(wanted, before, more.now), version: before.version + 1 };
    return { status: 200, after: { ...after, updatedAt: more.now } };
  }

  remove(asked: Asked): Verdict {
    const entry = this.entries.get(asked.id);
    if (!entry || entry.isDeleted) return { status: 404 };
    const { record } = entry;
    if (!this.precondition(asked, record.version)) return { status: 412 };
    if (this.row.kept(record) !== null) return { status: 409 };
    return { status: 204, after: { ...record, version: record.version + 1 } };
  }

  restore(asked: Asked, now: string): Verdict {
    const entry = this.entries.get(asked.id);
    if (!entry) return { status: 404 };
    const { record } = entry;
    if (!this.precondition(asked, record.version)) return { status: 412 };
    if (!entry.isDeleted) return { status: 200, after: null };
    if (this.namesGone(record, null) || this.isTaken(record) || this.refuses(record, null)) return { status: 409 };
    return { status: 200, after: { ...record, version: record.version + 1, updatedAt: now } };
  }

  /** Takes over what a write made, and the events that it must tell: one per rule of this kind whose predicate holds. */
  settle(kind: Kind, after: AnyRecord): void {
    const known = this.entries.get(after.id);
    const before = known?.record ?? after;
    // Defaults hold while a singleton is not there, so making it is told as a change.
    const on = kind === 'create' && this.row.isSingleton ? 'update' : kind;
    const rules = Object.entries(this.row.events).filter(
      ([, rule]) => rule.on === on && (rule.when === undefined || rule.when(before, after)),
    );
    const told = rules.map(([name]) => ({ sequence: after.version, type: `${this.row.singular}.${name}` }));
    this.entries.set(after.id, {
      record: after,
      isDeleted: kind === 'delete',
      told: [...(known?.told ?? []), ...told],
    });
  }
}

/**
 * Marks in a record's own document that say what is owed: when a timer has to look at it (`due`), and which other
 * records have a figure that follows from it (`owes`). They are set by the very write that makes them necessary.
 */
import { RESOURCES } from '../resources/registry';
import type { AnyRecord, Resource } from '../resources/resource';

/** Rows that keep a figure over the records of `source`. */
export const talliesOver = (source: Resource): Resource[] =>
  RESOURCES.filter(({ tally }) => tally?.from === source.key);

/** Rows whose timers ask records of `source`. */
export const wokenBy = (source: Resource): Resource[] =>
  RESOURCES.filter(({ timer, fields }) => timer?.reads && fields[timer.reads]?.traits.target === source.key);

/** True when records of this row can owe something to others. */
export const isSource = (row: Resource): boolean => talliesOver(row).length > 0 || wokenBy(row).length > 0;

/** True when records of this row can owe a count to others, or to themselves. */
export const canOwe = (row: Resource): boolean => row.tally !== null || isSource(row);

const idsIn = (value: unknown): string[] =>
  [value].flat().filter((id): id is string => typeof id === 'string' && id !== '');

const differs = (before: AnyRecord | null, after: AnyRecord | null, names: readonly string[]): boolean =>
  names.some((name) => JSON.stringify(before?.[name]) !== JSON.stringify(after?.[name]));

/** Ids of records whose figures or moments may be others after this change. */
function owedBy(row: Resource, before: AnyRecord | null, after: AnyRecord | null): string[] {
  const tallied = talliesOver(row).flatMap(({ tally }) => {
    if (!tally) return [];
    const names = [tally.by, ...Object.keys(tally.where), ...(tally.sum ? [tally.sum] : [])];
    return differs(before, after, names) ? [before, after].flatMap((record) => idsIn(record?.[tally.by])) : [];
  });
  const woken = before && after && wokenBy(row).length > 0 ? [after.id] : [];
  return [...new Set([...tallied, ...woken])];
}

/** When the timer must look: at once where another record has a say, else at the moment the record itself names. */
function dueOf({ timer, fields }: Resource, record: AnyRecord): Date | null {
  if (!timer) return null;
  const waits = Object.entries(timer.waits).every(([name, values]) => values.includes(String(record[name])));
  if (!waits) return null;
  if (timer.reads && fields[timer.reads] && record[timer.reads] !== null) return new Date(record.updatedAt);
  const next = timer.next(record, null, new Date(record.updatedAt));
  return next ? new Date(next.at) : null;
}

/** What a new document is marked with. */
export function marksOfNew(row: Resource, record: AnyRecord): Record<string, unknown> {
  const due = dueOf(row, record);
  const owes = owedBy(row, null, record);
  return { ...(due ? { due } : {}), ...(owes.length > 0 ? { owes } : {}) };
}

/**
 * What a restored document is marked with. While it was deleted nobody counted its figure, and timers that ask it found
 * nothing: it owes both.
 */
export function marksOfRestored(row: Resource, record: AnyRecord): Record<string, unknown> {
  const marks = marksOfNew(row, record);
  return row.tally || wokenBy(row).length > 0
    ? { ...marks, owes: [...new Set([...idsIn(marks['owes']), record.id])] }
    : marks;
}

type Update = Record<string, Record<string, unknown>>;

/** What a change adds to the update of its document; `after` is null when the record is deleted. */
export function marksOfChange(row: Resource, before: AnyRecord, after: AnyRecord | null): Update {
  const owes = owedBy(row, before, after);
  const marks: Update = owes.length > 0 ? { $addToSet: { owes: { $each: owes } } } : {};
  if (!row.timer || !after || !differs(before, after, row.timer.fields)) return marks;
  const due = dueOf(row, after);
  return { ...marks, ...(due ? { $set: { due } } : { $unset: { due: '' } }) };
}

/** Joins parts of one update; none of them name the same field under the same operator. */
export const joinUpdates = (...parts: readonly Update[]): Update => {
  const joined: Update = {};
  for (const part of parts)
    for (const [operator, fields] of Object.entries(part)) joined[operator] = { ...joined[operator], ...fields };
  return joined;
};

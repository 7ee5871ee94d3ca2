/** What rows say again and again: how a field moved, where a state may lead, and identifiers for examples. */
import type { Firing, States } from './resource';

const ULID = '01KAJ5Q3Z8M4T7V9X2B6C1D0EF';

/** An identifier as examples show it. */
export const exampleId = (prefix: string): string => `${prefix}_${ULID}`;

type Having<Name extends string> = Readonly<Record<Name, unknown>>;
/** A predicate that knows a write which makes it hold. */
type Holds<Name extends string> = ((before: Having<Name>, after: Having<Name>) => boolean) & { fires?: Firing };

/** The field has this value now, whatever it had before; also for events of a create. */
export const is = <Name extends string>(name: Name, value: unknown): Holds<Name> =>
  Object.assign((_before: Having<Name>, after: Having<Name>) => after[name] === value, {
    fires: { given: { [name]: value } },
  });

/** The field took this value with the change. */
export const enters = <Name extends string>(name: Name, value: unknown): Holds<Name> =>
  Object.assign((before: Having<Name>, after: Having<Name>) => before[name] !== value && after[name] === value, {
    fires: { change: { [name]: value } },
  });

/** The field had this value and has another now. */
export const leaves =
  <Name extends string>(name: Name, value: unknown): Holds<Name> =>
  (before, after) =>
    before[name] === value && after[name] !== value;

/** The field has another value than before; lists are compared by what they hold. */
export const changes =
  <Name extends string>(name: Name): Holds<Name> =>
  (before, after) =>
    JSON.stringify(before[name]) !== JSON.stringify(after[name]);

/** A list of the field has other members than before, in whatever order they stand. */
export const changesMembers =
  <Name extends string>(name: Name): Holds<Name> =>
  (before, after) =>
    membersOf(before[name]) !== membersOf(after[name]);

const membersOf = (list: unknown): string => JSON.stringify([...new Set(list as string[])].toSorted());

/** What an event about one field adds: `from` and `to`. */
export const fromTo =
  <Name extends string>(name: Name) =>
  (before: Having<Name>, after: Having<Name>): Record<string, unknown> => ({ from: before[name], to: after[name] });

/** A state machine whose moves depend on the state alone. */
export const moves = <Row>(
  field: string,
  from: Readonly<Record<string, readonly string[]>>,
  more: Pick<States<Row>, 'initial' | 'hint'> = {},
): States<Row> => ({
  field,
  ...more,
  from: Object.fromEntries(Object.entries(from).map(([state, to]) => [state, () => to])),
});

/** References between records: what a record names must exist in its tenant, and events may ask for their labels. */
import { problem, refuseFindings, type Finding } from '../../contracts/problem';
import { COMPANY, labelledBy, labelsOf, namedBy, readTexts, type Named } from '../../events/record-labels';
import type { ChangeLabels } from '../../events/record-events';
import { resourceOf } from '../../resources/registry';
import type { AnyRecord, Resource } from '../../resources/resource';
import type { Store } from '../../store/collection';
import { countFigure } from '../../store/resource-follow-ups';
import type { Texts } from '../../store/resource-texts';
import type { Place } from '../../store/resources';

const unknownRecord = ({ field, target, id }: Named): Finding => ({
  path: `/${field}`,
  code: 'ref',
  message: `no ${target.nouns[0]} ${id} in this tenant`,
});

/** Resources whose records are people to be reached. */
const PEOPLE: readonly string[] = ['contacts', 'voice-contacts'];

/** People that the record names, where they or the company beside them are set. */
function peopleSet(row: Resource, before: AnyRecord | null, after: AnyRecord): Named[] {
  if (row.fields[COMPANY]?.traits.target !== 'companies') return [];
  const differs = (field: string): boolean => before?.[field] !== after[field];
  return namedBy(row, after, (field) => differs(field) || differs(COMPANY)).filter(({ target }) =>
    PEOPLE.includes(target.key),
  );
}

/** Who is written to about one company must not be somebody at another. */
function strangers(people: readonly Named[], { [COMPANY]: companyId }: AnyRecord, texts: Texts): Finding[] {
  if (typeof companyId !== 'string') return [];
  const message = `belongs to another company than ${COMPANY}: name a contact of ${companyId}`;
  return people
    .filter(({ id }) => (texts[id]?.texts[COMPANY] ?? companyId) !== companyId)
    .map(({ field }) => ({ path: `/${field}`, code: 'rule', message }));
}

/** Refuses another value for a field that records of another resource hold to; asked for only when it changes. */
export async function checkHeld(
  store: Store,
  { row, tenantId }: Place,
  before: AnyRecord,
  after: AnyRecord,
): Promise<void> {
  const { held } = row;
  const names = held?.fields.filter((name) => before[name] !== after[name]) ?? [];
  if (!held || names.length === 0) return;
  const from = resourceOf(held.from);
  if ((await countFigure(store, { row: from, tenantId }, held, before.id)) === 0) return;
  const [one, many] = [row.nouns[0], from.nouns[1]];
  throw problem('conflict', {
    message: `The ${names.join(', ')} of this ${one} cannot change while it has ${many} that count on it: ${held.fix}.`,
    facts: { fields: names, referencedBy: [many] },
  });
}

/**
 * Refuses references that a change sets and that the tenant does not have, and contacts of another company; those it
 * leaves alone may point to records deleted since. Answers the labels the event payload asks for.
 */
export async function checkReferences(
  store: Store,
  place: Place,
  before: AnyRecord | null,
  after: AnyRecord,
): Promise<ChangeLabels> {
  const { row } = place;
  const set = namedBy(row, after, (field) => before?.[field] !== after[field]);
  const people = peopleSet(row, before, after);
  const labelled = [before, after].flatMap((one) => labelledBy(row, one));
  const texts = await readTexts(store, place, [...set, ...people, ...labelled]);
  const unknown = set.filter(({ id }) => texts[id]?.isLive !== true);
  const known = people.filter((person) => !unknown.some(({ field }) => field === person.field));
  refuseFindings([...unknown.map(unknownRecord), ...strangers(known, after, texts)], 'body');
  return { before: labelsOf(row, before, texts), after: labelsOf(row, after, texts) };
}

/** References between records: what a record names must exist in its tenant, and events may ask for their labels. */
import { refuseFindings, type Finding } from '../../contracts/problem';
import { labelledBy, labelsOf, namedBy, readTexts, type Named } from '../../events/record-labels';
import type { ChangeLabels } from '../../events/record-events';
import type { AnyRecord } from '../../resources/resource';
import type { Store } from '../../store/collection';
import type { Place } from '../../store/resources';

const unknownRecord = ({ field, target, id }: Named): Finding => ({
  path: `/${field}`,
  code: 'ref',
  message: `no ${target.nouns[0]} ${id} in this tenant`,
});

/**
 * Refuses references that a change sets and that the tenant does not have; those it leaves alone may point to records
 * deleted since. Answers the labels the event payload asks for.
 */
export async function checkReferences(
  store: Store,
  place: Place,
  before: AnyRecord | null,
  after: AnyRecord,
): Promise<ChangeLabels> {
  const { row } = place;
  const set = namedBy(row, after, (field) => before?.[field] !== after[field]);
  const texts = await readTexts(store, place, [...set, ...[before, after].flatMap((one) => labelledBy(row, one))]);
  const findings = set.filter(({ id }) => texts[id] === undefined).map(unknownRecord);
  refuseFindings(findings, 'body');
  return { before: labelsOf(row, before, texts), after: labelsOf(row, after, texts) };
}

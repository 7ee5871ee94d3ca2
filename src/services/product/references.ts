/** References between records: they must exist in the tenant, and events may ask for their labels. */
import { problem, type Finding } from '../../contracts/problem';
import { resourceOf } from '../../resources/registry';
import type { AnyRecord, Labels, Resource } from '../../resources/resource';
import type { Store } from '../../store/collection';
import { findLabels, type Place } from '../../store/resources';

/** Labels of the references of a record, before and after a change. */
export interface ChangeLabels {
  before: Labels;
  after: Labels;
}

interface Named {
  field: string;
  target: Resource;
  id: string;
}

function namedBy(row: Resource, record: AnyRecord | null, wanted: (field: string) => boolean): Named[] {
  return Object.entries(row.fields).flatMap(([field, { traits }]) => {
    const id = record?.[field];
    return traits.target && typeof id === 'string' && wanted(field)
      ? [{ field, id, target: resourceOf(traits.target) }]
      : [];
  });
}

/** One query per resource that is named, however many references name it. */
async function readLabels(store: Store, tenantId: string, named: Named[]): Promise<Labels> {
  const targets = new Map<Resource, Set<string>>();
  for (const { target, id } of named) targets.set(target, (targets.get(target) ?? new Set()).add(id));
  const found = await Promise.all([...targets].map(([row, ids]) => findLabels(store, { row, tenantId }, [...ids])));
  return Object.assign({}, ...found) as Labels;
}

function labelsOf({ labelled }: Resource, record: AnyRecord | null, byId: Labels): Labels {
  return Object.fromEntries(labelled.map((field) => [field, byId[String(record?.[field])] ?? null]));
}

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
  const { row, tenantId } = place;
  const set = namedBy(row, after, (field) => before?.[field] !== after[field]);
  const labelled = [before, after].flatMap((record) => namedBy(row, record, (field) => row.labelled.includes(field)));
  const byId = await readLabels(store, tenantId, [...set, ...labelled]);
  const findings = set.filter(({ id }) => byId[id] === undefined).map(unknownRecord);
  const [first] = findings;
  if (first) {
    const message =
      findings.length === 1 ? `${first.path}: ${first.message}` : `${findings.length} problems in the body`;
    throw problem('validation_error', { message, findings });
  }
  return { before: labelsOf(row, before, byId), after: labelsOf(row, after, byId) };
}

/** The product registry: every resource that the product APIs serve. A new resource is one row more. */
import { companies, contacts } from './crm';
import { boards, serviceCatalog, tickets } from './psa';
import type { Resource } from './resource';

/** Every row, in the order of the documentation. */
export const RESOURCES: readonly Resource[] = [tickets, boards, serviceCatalog, companies, contacts];

const byKey = new Map(RESOURCES.map((row) => [row.key, row]));

/** The row that a reference's target names. */
export function resourceOf(key: string): Resource {
  const found = byKey.get(key);
  if (!found) throw new Error(`The registry has no resource "${key}"`);
  return found;
}

/** A reference from one resource to another. */
export interface Reference {
  from: Resource;
  field: string;
}

/** Every field of the registry that names records of `target`. */
export const referencesTo = (target: Resource): Reference[] =>
  RESOURCES.flatMap((from) =>
    Object.entries(from.fields)
      .filter(([, declared]) => declared.traits.target === target.key)
      .map(([field]) => ({ from, field })),
  );

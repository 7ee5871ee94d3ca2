/** The product registry: every resource that the product APIs serve. A new resource is one row more. */
import { jobs, restorePoints, schedules } from './backups';
import { accounts, entities, payments } from './books';
import { entitySyncs, roles, tenants, users, workflows } from './console';
import { activities, companies, contacts, deals } from './crm';
import { detections, endpoints, responseActions } from './defend';
import { invoices } from './invoices';
import { notesOf } from './notes';
import { clientUsers, portalSettings } from './portal';
import { boards, serviceCatalog, timeEntries } from './psa';
import type { Resource } from './resource';
import { deviceAlerts, devices, patchPolicies, scripts } from './rmm';
import { incidents, mitreMappings, rules, securityAlerts } from './security';
import { tickets } from './tickets';
import { calls, recordings, voiceContacts } from './voice';

const PSA_AND_CRM = [tickets, boards, timeEntries, serviceCatalog, companies, contacts, deals, activities];
const BOOKS = [invoices, payments, entities, accounts];
const RMM = [devices, scripts, patchPolicies, deviceAlerts];
const SECURITY = [securityAlerts, rules, incidents, mitreMappings];
const DEFEND = [endpoints, detections, responseActions];
const BACKUPS = [jobs, schedules, restorePoints];
const VOICE = [calls, recordings, voiceContacts];
const PORTAL = [clientUsers, portalSettings];
const CONSOLE = [tenants, users, roles, entitySyncs, workflows];

/** Every row, in the order of the documentation. */
export const RESOURCES: readonly Resource[] = [
  ...PSA_AND_CRM,
  ...BOOKS,
  ...RMM,
  ...SECURITY,
  ...DEFEND,
  ...BACKUPS,
  ...VOICE,
  ...PORTAL,
  ...CONSOLE,
];

/** Every row that has a collection: the resources and their notes. */
export const ROWS: readonly Resource[] = RESOURCES.flatMap((row) => [row, notesOf(row) ?? []].flat());

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

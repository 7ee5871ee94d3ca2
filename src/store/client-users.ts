/** Client users and the contacts they are, as authentication and approvals need them. */
import type { PortalRole } from '../contracts/principal';
import { resourceOf } from '../resources/registry';
import type { Store } from './collection';
import { documentsOf, toRecord, type ResourceDocument } from './resource-documents';
import { findResource } from './resources';

/** What is asked of a client user outside the product APIs. */
export interface ClientUser {
  id: string;
  version: number;
  email: string;
  companyId: string;
  contactId: string | null;
  role: PortalRole;
  status: 'invited' | 'active' | 'suspended';
}

/** Records of one address that are looked at. */
const SAME_ADDRESS_MAX = 50;

const place = (key: string, tenantId: string) => ({ row: resourceOf(key), tenantId });

/** The client user, or null when the org has none with this id. */
export async function findClientUser(store: Store, orgId: string, id: string): Promise<ClientUser | null> {
  return (await findResource(store, place('client-users', orgId), id)) as ClientUser | null;
}

/** The client user as whoever it is at a company now: a contact that was deleted or has moved away is nobody's. */
export async function findClientUserAt(
  store: Store,
  orgId: string,
  { id, companyId }: Pick<ClientUser, 'id' | 'companyId'>,
): Promise<ClientUser | null> {
  const found = await findClientUser(store, orgId, id);
  if (!found?.contactId) return found;
  return (await companyOfContact(store, orgId, found.contactId)) === companyId ? found : { ...found, contactId: null };
}

const eldestFirst = { createdAt: 1, _id: 1 } as const;

/**
 * The client users with this address who may sign in, one per company: a person can be one at several, and whoever
 * writes the address into a record of their own company takes nobody else's place.
 */
export async function findClientUsersByEmail(store: Store, orgId: string, email: string): Promise<ClientUser[]> {
  const row = resourceOf('client-users');
  const found = await documentsOf(store, row)
    .find({ tenantId: orgId, email: email.toLowerCase(), deletedAt: null }, { _out: 0 })
    .sort(eldestFirst)
    .limit(SAME_ADDRESS_MAX)
    .lean<ResourceDocument[]>()
    .exec();
  const users = found.map((document) => toRecord(row, document) as unknown as ClientUser);
  const mayEnter = users.filter(({ status }) => status !== 'suspended');
  const byStanding = [...mayEnter.filter(({ status }) => status === 'active'), ...mayEnter];
  return byStanding.filter(
    ({ companyId }, place) => byStanding.findIndex((other) => other.companyId === companyId) === place,
  );
}

/** The contact's company, or null when the org has no such contact. */
export async function companyOfContact(store: Store, orgId: string, contactId: string): Promise<string | null> {
  const contact = await findResource(store, place('contacts', orgId), contactId);
  return contact ? String(contact['companyId']) : null;
}

/** What the company is called, or null when the org has no such company. */
export async function nameOfCompany(store: Store, orgId: string, id: string): Promise<string | null> {
  const company = await findResource(store, place('companies', orgId), id);
  return company ? String(company['name']) : null;
}

/** True while the org has this company. */
export async function hasCompany(store: Store, orgId: string, id: string): Promise<boolean> {
  return (await nameOfCompany(store, orgId, id)) !== null;
}

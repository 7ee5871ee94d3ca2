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

const SAME_ADDRESS_MAX = 5;

const place = (key: string, tenantId: string) => ({ row: resourceOf(key), tenantId });

/** The client user, or null when the org has none with this id. */
export async function findClientUser(store: Store, orgId: string, id: string): Promise<ClientUser | null> {
  return (await findResource(store, place('client-users', orgId), id)) as ClientUser | null;
}

/** The newest client user with this address who may sign in; a person can be one at several companies. */
export async function findClientUserByEmail(store: Store, orgId: string, email: string): Promise<ClientUser | null> {
  const row = resourceOf('client-users');
  const found = await documentsOf(store, row)
    .find({ tenantId: orgId, email: email.toLowerCase(), deletedAt: null }, { _out: 0 })
    .sort({ createdAt: -1 })
    .limit(SAME_ADDRESS_MAX)
    .lean<ResourceDocument[]>()
    .exec();
  const users = found.map((document) => toRecord(row, document) as unknown as ClientUser);
  return users.find(({ status }) => status !== 'suspended') ?? null;
}

/** The contact's company, or null when the org has no such contact. */
export async function companyOfContact(store: Store, orgId: string, contactId: string): Promise<string | null> {
  const contact = await findResource(store, place('contacts', orgId), contactId);
  return contact ? String(contact['companyId']) : null;
}

/** True while the org has this company. */
export async function hasCompany(store: Store, orgId: string, id: string): Promise<boolean> {
  return (await findResource(store, place('companies', orgId), id)) !== null;
}

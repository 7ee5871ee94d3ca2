/** Clients and their people, the service catalog and tickets of the demo org: what its service desk already holds. */
import { derivedId } from '../../src/domain/ids';
import { resourceOf } from '../../src/resources/registry';
import type { AnyRecord } from '../../src/resources/resource';
import { defaultsOf } from '../../src/services/product/changes';
import type { Store } from '../../src/store/collection';
import { findResource, insertResource, nextNumber } from '../../src/store/resources';

interface DeskOptions {
  store: Store;
  orgId: string;
  now: Date;
}

const HOUR = 60 * 60 * 1_000;

const COMPANIES = ['Bluefin Dental', 'Harbor Logistics', 'Northwind Law'];
const PORTAL_USER = {
  name: 'portal user',
  firstName: 'Ana',
  lastName: 'Reyes',
  email: 'ana@bluefin.test',
  role: 'admin',
};
const SERVICES = [
  { sku: 'SUP-HR', name: 'Support hour', unitPrice: 12_500, unit: 'hour' },
  { sku: 'MON-DEV', name: 'Device monitoring', unitPrice: 800, unit: 'device' },
];
const TICKETS = [
  { subject: 'Printer offline on the second floor', priority: 'low', status: 'open', company: 0 },
  { subject: 'New laptop for a starter', priority: 'medium', status: 'in_progress', company: 1 },
  { subject: 'VPN drops every hour', priority: 'high', status: 'open', company: 2 },
  { subject: 'Shared mailbox access', priority: 'low', status: 'resolved', company: 0 },
  { subject: 'Backup job reports warnings', priority: 'medium', status: 'waiting_vendor', company: 1 },
];

/** Stores a record of the past: no event, so that seeding starts no agent. */
async function seedRecord(
  { store, orgId, now }: DeskOptions,
  key: string,
  record: { name: string; values: Record<string, unknown> },
): Promise<string> {
  const row = resourceOf(key);
  const place = { row, tenantId: orgId };
  const id = derivedId(row.prefix, orgId, record.name);
  if (await findResource(store, place, id)) return id;
  const counted = Object.entries(row.fields).filter(([, { traits }]) => traits.countsFrom !== null);
  const numbers: Record<string, number> = {};
  for (const [name, { traits }] of counted) {
    numbers[name] = await nextNumber(store, orgId, `${row.key}.${name}`, traits.countsFrom ?? 1);
  }
  const at = now.toISOString();
  const draft: AnyRecord = {
    id,
    version: 1,
    ...defaultsOf(row),
    externalRefs: [],
    customFields: {},
    ...record.values,
    ...numbers,
    createdAt: at,
    updatedAt: at,
    createdBy: 'system:seed',
    deletedAt: null,
  };
  await insertResource(store, place, { ...draft, ...row.computed(draft, null, at) }, []);
  return id;
}

/** Somebody at a client who may sign in to the portal; the code of the sign-in mail arrives in the inbox. */
async function seedPerson(options: DeskOptions, companyId: string | undefined): Promise<void> {
  const { name, ...person } = PORTAL_USER;
  const contact = { firstName: person.firstName, lastName: person.lastName, email: person.email, companyId };
  const contactId = await seedRecord(options, 'contacts', { name, values: contact });
  await seedRecord(options, 'client-users', { name, values: { ...person, companyId, contactId } });
}

/** Fills the desk; what is there already stays as it is. */
export async function seedDesk(options: DeskOptions): Promise<void> {
  const companies: string[] = [];
  for (const name of COMPANIES) companies.push(await seedRecord(options, 'companies', { name, values: { name } }));
  await seedPerson(options, companies[0]);
  for (const service of SERVICES) await seedRecord(options, 'service-catalog', { name: service.sku, values: service });
  for (const [index, { company, ...ticket }] of TICKETS.entries()) {
    const now = new Date(options.now.getTime() - (TICKETS.length - index) * 5 * HOUR);
    await seedRecord({ ...options, now }, 'tickets', {
      name: ticket.subject,
      values: { ...ticket, companyId: companies[company] },
    });
  }
}

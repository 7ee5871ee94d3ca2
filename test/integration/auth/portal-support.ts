/** What the portal suites share: an org with two clients, people at each, and calls with their tokens. */
import { request, text, type Answer, type TestOrg } from '../../support/harness';

/** Somebody at a client. */
export interface Person {
  id: string;
  contactId: string;
  email: string;
  token: string;
}

export interface Client {
  companyId: string;
}

export const made = async (org: TestOrg, path: string, body: unknown): Promise<string> => {
  const answer = await org.call('POST', path, body);
  if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${answer.text}`);
  return text(answer.body['id']);
};

export const newClient = async (org: TestOrg, name: string): Promise<Client> => ({
  companyId: await made(org, '/psa/api/companies', { name }),
});

let people = 0;

/** A contact and client user of a company, not signed in yet. */
export async function newPerson(org: TestOrg, { companyId }: Client, role = 'requester'): Promise<Person> {
  people += 1;
  const email = `person${people}@${companyId.toLowerCase().replace('_', '-')}.example`;
  const contactId = await made(org, '/psa/api/contacts', {
    firstName: `Person ${people}`,
    lastName: 'Reyes',
    email,
    companyId,
  });
  const id = await made(org, '/portal/api/client-users', { email, companyId, contactId, role });
  return { id, contactId, email, token: '' };
}

export const openSession = (org: TestOrg, person: Pick<Person, 'id'>): Promise<Answer> =>
  org.call('POST', `/portal/api/client-users/${person.id}/sessions`);

/** The same person with a token. */
export async function signedIn(org: TestOrg, person: Person): Promise<Person> {
  const answer = await openSession(org, person);
  if (answer.status !== 201) throw new Error(`sign-in: ${answer.status} ${answer.text}`);
  return { ...person, token: text(answer.body['token']) };
}

/** Calls as whoever holds the token. */
export const callWith = (
  baseUrl: string,
  token: string,
  call: { method: string; path: string; body?: unknown; headers?: Record<string, string> },
): Promise<Answer> => request(baseUrl, { ...call, headers: { authorization: `Bearer ${token}`, ...call.headers } });

/** Whether the token is let in at all, and why not. */
export async function standing(baseUrl: string, token: string): Promise<string> {
  const answer = await callWith(baseUrl, token, { method: 'POST', path: '/portal/api/sessions/current/renew' });
  const reason = (answer.body['details'] as unknown as { reason?: string } | undefined)?.reason;
  return [answer.status, reason].filter(Boolean).join(' ');
}

export const patched = async (org: TestOrg, path: string, body: unknown): Promise<void> => {
  const answer = await org.call('PATCH', path, body);
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
};

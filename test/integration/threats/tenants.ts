/** Two tenants with one of everything each: what the one has, the other must never see, name or change. */
import { readConfig } from '../../../src/config';
import type { Operation } from '../../../src/contracts/operation';
import { PRODUCT_SCOPES, type ProductScope } from '../../../src/contracts/principal';
import { ROLES, type Role } from '../../../src/domain/permissions';
import { boundOperations } from '../../../src/http/app';
import { RESOURCES, resourceOf } from '../../../src/resources/registry';
import type { Resource } from '../../../src/resources/resource';
import { activeAgent, definitionWith, GATE, openGateOf, run } from '../../support/agents';
import {
  createOrg,
  joinStack,
  list,
  request,
  text,
  waitFor,
  type Answer,
  type Harness,
  type TestOrg,
} from '../../support/harness';
import { startHttpServer } from '../../support/stand-ins/http-server';
import { newKey, signIn, testContext } from '../auth/support';

type Values = Record<string, unknown>;
type HeaderFields = Record<string, string>;

/** Every operation of every mount, as it is served. */
export const operations: Operation[] = boundOperations().flatMap((bound) => bound.operations);
export const nameOf = ({ service, method, path }: Operation): string => `${method} /${service}${path}`;

export interface Tenant extends TestOrg {
  /** Console sessions, one for each role. */
  sessions: Record<Role, HeaderFields>;
  /** Two ids of everything that is named in a path, by the path before the parameter. */
  ids: Record<string, readonly [string, string]>;
  /** A token of the first client user, who is an administrator of its client. */
  portal: HeaderFields;
  /** A key header with these scopes and no others. */
  keyWith(scopes: readonly string[]): Promise<HeaderFields>;
}

export interface Border extends Harness {
  /** An empty one has people and keys, and nothing else. */
  newTenant(options?: { isEmpty: boolean }): Promise<Tenant>;
  call(operation: Operation, call: Sent): Promise<Answer>;
  request(call: Parameters<typeof request>[1]): Promise<Answer>;
  stop(): Promise<void>;
}

export interface Sent {
  id?: string;
  query?: string;
  body?: unknown;
  headers: HeaderFields;
}

export const bearer = (key: string): HeaderFields => ({ authorization: `Bearer ${key}` });

/** The path an id stands in. */
export const placeOf = ({ service, path }: Operation): string => `/${service}${path.split('/:')[0]}`;

/** The body that documentation shows; operations without one send none. */
export const exampleOf = (operation: Operation): unknown => Object.values(operation.examples ?? {})[0];

/** The row's own example with records of the tenant wherever it names one, made first when there are none. */
async function makeRecords(org: TestOrg, ids: Tenant['ids']): Promise<void> {
  const placeOfRow = (row: Resource): string => `/${row.products[0]}/api/${row.path}`;
  async function idsOf(row: Resource): Promise<readonly [string, string]> {
    const known = ids[placeOfRow(row)];
    if (known) return known;
    const body: Values = { ...row.examples.create };
    for (const name of Object.keys(body)) {
      const target = row.fields[name]?.traits.target;
      if (target) [body[name]] = await idsOf(resourceOf(target));
    }
    // The same idempotency keys in every tenant: they must not meet.
    const one = await create(row, body, 'first');
    const other = row.isSingleton ? one : await create(row, body, 'second');
    for (const product of row.products) ids[`/${product}/api/${row.path}`] = [one, other];
    return [one, other];
  }
  async function create(row: Resource, body: Values, which: string): Promise<string> {
    const key = { 'idempotency-key': `${row.key}-${which}` };
    const answer = await org.call('POST', placeOfRow(row), body, key);
    if (answer.status !== 201 || answer.headers.get('idempotency-replayed'))
      throw new Error(`${row.key} not created: ${answer.status} ${answer.text}`);
    return text(answer.body['id']);
  }
  for (const row of RESOURCES) await idsOf(row);
}

/** Two notes to every record that takes some, the first under the record's id. */
async function makeNotes(org: TestOrg, ids: Tenant['ids'], notes: Map<string, string>): Promise<void> {
  for (const { hasNotes, products, path } of RESOURCES) {
    const place = `/${products[0]}/api/${path}`;
    for (const id of (hasNotes && ids[place]) || []) {
      const one = await org.call('POST', `${place}/${id}/notes`, { body: 'One' });
      const other = await org.call('POST', `${place}/${id}/notes`, { body: 'Other' });
      if (one.status !== 201 || other.status !== 201) throw new Error(`no notes: ${one.text} ${other.text}`);
      notes.set(id, text(one.body['id']));
    }
  }
}

async function makeRuns(org: TestOrg, ids: Tenant['ids']): Promise<void> {
  const place = (name: string): string => `/agents/api/${name}`;
  const one = await activeAgent(org, definitionWith([GATE]));
  const first = await run(org);
  const other = text((await org.call('POST', place(`agents/${one}/clone`), {})).body['id']);
  const second = await run(org);
  const approvals = await Promise.all([openGateOf(org, first), openGateOf(org, second)]);
  const runs = await Promise.all([first, second].map((id) => org.call('GET', place(`executions/${id}`))));
  const events = runs.map(({ body }) => text(body['trigger_event']?.['id']));
  ids[place('agents')] = [one, other];
  // Templates are everybody's; what is an org's own is the agent that somebody tries to pass for one.
  ids[place('templates')] = [one, other];
  ids[place('executions')] = [first, second];
  ids[place('approvals')] = [text(approvals[0]['id']), text(approvals[1]['id'])];
  ids[place('event-log')] = [events[0] ?? '', events[1] ?? ''];
}

async function makeKeys(baseUrl: string, tenant: Pick<Tenant, 'sessions' | 'ids'>): Promise<void> {
  const create = async (name: string): Promise<string> => {
    const body = { kind: 'platform', name, scopes: ['PSA'] };
    const headers = { ...tenant.sessions.owner, 'idempotency-key': `api-key-${name}` };
    const answer = await request(baseUrl, { method: 'POST', path: '/console/api/api-keys', body, headers });
    if (answer.status !== 201) throw new Error(`key not created: ${answer.text}`);
    return text(answer.body['id']);
  };
  tenant.ids['/console/api/api-keys'] = [await create('first'), await create('second')];
}

/** Makes the first client user an administrator with a portal session. */
async function signInClient(org: TestOrg, tenant: Pick<Tenant, 'ids' | 'portal'>, sessions: Map<string, string>) {
  const place = '/portal/api/client-users';
  const [id = ''] = tenant.ids[place] ?? [];
  const changed = await org.call('PATCH', `${place}/${id}`, { role: 'admin' });
  // Two sessions, so that their list has a second page.
  await org.call('POST', `${place}/${id}/sessions`);
  const { status, body, text: said } = await org.call('POST', `${place}/${id}/sessions`);
  if (changed.status !== 200 || status !== 201) throw new Error(`not signed in: ${changed.text} ${said}`);
  tenant.portal = bearer(text(body['token']));
  sessions.set(id, text(body['sessionId']));
}

/** Two endpoints, and two deliveries that arrived at one of them: nothing of it moves any more. */
async function makeWebhooks(org: TestOrg, ids: Tenant['ids'], url: string): Promise<void> {
  const place = '/console/api/webhooks';
  const create = async (eventTypes: string[]): Promise<string> => {
    const answer = await org.call('POST', place, { url, eventTypes });
    if (answer.status !== 201) throw new Error(`webhook not created: ${answer.text}`);
    return text(answer.body['id']);
  };
  const [listening, other] = [await create(['psa:custom.border']), await create(['psa:custom.other'])];
  ids[place] = [listening, other];
  const event = { event_type: 'custom.border', source_product: 'psa', payload: {} };
  for (const id of ['evt_border_1', 'evt_border_2']) {
    const answer = await org.call('POST', '/agents/api/events/ingest', { ...event, id });
    if (answer.status !== 202) throw new Error(`event not taken: ${answer.text}`);
  }
  const [one, two] = await waitFor(
    async () => {
      const { body } = await org.call('GET', `${place}/${listening}/deliveries`);
      const sent = list(body['items']).filter(({ status }) => text(status) === 'delivered');
      return sent.length === 2 && sent;
    },
    { what: 'two deliveries that arrived' },
  );
  ids['/console/api/deliveries'] = [text(one?.['id']), text(two?.['id'])];
}

/** Joins the running stack and answers what makes tenants on it. */
export function openBorder(): Border {
  const harness = joinStack();
  const own = harness.address;
  const receiver = startHttpServer(() => ({}));
  const sessionOfUser = new Map<string, string>();
  const context = testContext(harness.store, { config: readConfig(own.env) });

  const notes = new Map<string, string>();

  async function sessionOf(orgId: string, role: Role): Promise<[Role, HeaderFields]> {
    const { cookie, csrfToken } = await signIn(context, orgId, role);
    return [role, { cookie, 'x-csrf-token': csrfToken }];
  }
  return {
    ...harness,
    request: (call) => request(own.baseUrl, call),
    async newTenant({ isEmpty } = { isEmpty: false }) {
      const org = await createOrg(harness.store, own);
      const sessions = Object.fromEntries(await Promise.all(ROLES.map((role) => sessionOf(org.id, role))));
      const keys = new Map<string, Promise<HeaderFields>>();
      const issue = async (scopes: readonly string[]) =>
        bearer((await newKey(context, org.id, { scopes: [...scopes] })).key);
      const tenant: Tenant = {
        ...org,
        sessions: sessions as Tenant['sessions'],
        ids: {},
        portal: {},
        keyWith(scopes) {
          const name = scopes.join();
          keys.set(name, keys.get(name) ?? issue(scopes));
          return keys.get(name) as Promise<HeaderFields>;
        },
      };
      if (isEmpty) return tenant;
      await Promise.all([
        makeRecords(org, tenant.ids).then(() =>
          Promise.all([makeNotes(org, tenant.ids, notes), signInClient(org, tenant, sessionOfUser)]),
        ),
        makeRuns(org, tenant.ids),
        makeKeys(own.baseUrl, tenant),
        makeWebhooks(org, tenant.ids, (await receiver).url),
      ]);
      return tenant;
    },
    call(operation, { id, query, body, headers }) {
      // The second parameter is what belongs to the first: a note or a session, or somebody's for an id nobody has.
      const belonging = (known: Map<string, string>) => known.get(id ?? '') ?? [...known.values()][0] ?? ':';
      const path = operation.path
        .replace(/:\w+/, id ?? ':')
        .replace(':noteId', belonging(notes))
        .replace(':sessionId', belonging(sessionOfUser));
      return request(own.baseUrl, {
        method: operation.method,
        path: `/${operation.service}${path}${query === undefined ? '' : `?${query}`}`,
        headers,
        ...(body === undefined ? {} : { body }),
      });
    },
    async stop() {
      await (await receiver).stop();
      await harness.close();
    },
  };
}

const nextOf = (alphabet: string) => (character: string) =>
  alphabet[(alphabet.indexOf(character) + 1) % alphabet.length] ?? character;

/** An id of the same shape that nobody has. */
export const twinOf = (id: string): string =>
  id.slice(0, -6) +
  id
    .slice(-6)
    .replace(/[0-9]/g, nextOf('0123456789'))
    .replace(/[A-HJKMNP-TV-Z]/g, nextOf('ABCDEFGHJKMNPQRSTVWXYZ'))
    .replace(/[a-z]/g, nextOf('abcdefghijklmnopqrstuvwxyz'));

/** Headers that count requests or name this one. */
const OWN_HEADERS = /^(x-request-id|date|x-ratelimit-(remaining|reset)|ratelimit|retry-after)$/;

/** An answer without what differs between any two requests; the id that was asked for reads `<id>`. */
export const likeness = (answer: Answer, id: string): unknown => ({
  status: answer.status,
  body: answer.text.replaceAll(id, '<id>').replace(/"request_?[iI]d":"[^"]*"/, ''),
  headers: [...answer.headers].map(([name, value]) => [
    name,
    OWN_HEADERS.test(name) ? '' : value.replaceAll(id, '<id>'),
  ]),
});

/** A key's scopes that open every product but those of the operation. */
export function otherScopes({ access }: Operation): ProductScope[] {
  const open: readonly string[] = access.kind === 'product' ? access.scopes : [];
  return PRODUCT_SCOPES.filter((scope) => !open.includes(scope));
}

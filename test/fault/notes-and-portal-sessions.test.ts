/**
 * The api is killed while notes are written and client users are signed in, both with idempotency keys; repeating the
 * requests leaves one note or session for every key, told of once, and a token is shown once.
 */
import { resourceOf, ROWS } from '../../src/resources/registry';
import type { Resource } from '../../src/resources/resource';
import { documentsOf } from '../../src/store/resource-documents';
import { activeAgent } from '../support/agents';
import { joinStack, text, waitFor, type Answer, type Harness, type TestOrg } from '../support/harness';
import { allOf, onceEach, repeatedThroughKills, timesTold, type Moments, type Writes } from '../support/repeats';
import { startStack, type Stack } from '../support/stack';
import {
  callWith,
  made,
  newClient,
  newPerson,
  signedIn,
  standing,
  type Person,
} from '../integration/auth/portal-support';

const SECOND = 1_000;
const PER_ROUND = 12;
/** Who is signed in by every fourth key of a round, so that writers of one person meet. */
const SHARED_EVERY = 4;

/** At first hardly anything is written; in the end some requests were answered. */
const KILLS: ((moments: Moments) => Promise<unknown>)[] = [
  ({ written }) => written(1),
  ({ written }) => written(PER_ROUND / 2),
  ({ answered }) => answered,
];

let stack: Stack;
let harness: Harness;
let org: TestOrg;
beforeAll(async () => {
  stack = await startStack();
  harness = joinStack(stack);
}, 240 * SECOND);
beforeEach(async () => {
  org = await harness.newOrg();
});
afterAll(async () => {
  await harness.close();
  await stack.stop();
});

const NOTES = ROWS.filter(({ parent }) => parent?.row === resourceOf('tickets'));
const USERS = [resourceOf('client-users')];

const countOf = async ([row]: Resource[], filter: Record<string, unknown>): Promise<number> => {
  if (!row) throw new Error('no such row');
  return documentsOf(harness.store, row).collection.countDocuments(filter);
};
const throughKills = (writes: Pick<Writes, 'send' | 'count'>) =>
  repeatedThroughKills({ harness, api: stack.api, org, perRound: PER_ROUND, kills: KILLS, ...writes });
const ids = (answers: readonly { again: Answer }[], field: string): string[] =>
  answers.map(({ again }) => text(again.body[field]));

test(
  'notes of staff and client users: one note, one event and one execution for every key',
  async () => {
    const steps = [{ type: 'set_variables', id: 'read', values: { note: '{{event_payload.note_id}}' } }];
    const trigger = { type: 'bus_event', event_type: 'ticket.note_added', source_product: 'psa', filters: [] };
    await activeAgent(org, { name: 'Reader', trigger, steps });
    const client = await newClient(org, 'Northwind');
    const { token } = await signedIn(org, await newPerson(org, client));
    const tickets = await Promise.all(
      ['Printer', 'Phone'].map((subject) => made(org, '/psa/api/tickets', { subject, ...client })),
    );
    const before = await Promise.all(tickets.map(async (id) => (await org.call('GET', `/psa/api/tickets/${id}`)).text));
    const pathOf = (index: number): string => `/psa/api/tickets/${tickets[index % 2]}/notes`;
    const bodyOf = (index: number): string => `Note ${index}`;
    const send = (index: number): Promise<Answer> => {
      const headers = { 'idempotency-key': `n-${index}` };
      const body = { body: bodyOf(index), visibility: 'public' };
      return index % 3 === 0
        ? callWith(stack.baseUrl, token, { method: 'POST', path: pathOf(index), body, headers })
        : org.call('POST', pathOf(index), body, headers);
    };
    const { requests, cut } = await throughKills({
      send,
      count: () => countOf(NOTES, { tenantId: org.id }),
    });
    expect(cut).toBeGreaterThan(0);

    for (const { index, first, again } of requests) {
      if (first?.status === 201) expect(again.text).toBe(first.text);
      expect(again.headers.get('location')).toBe(`${pathOf(index)}/${text(again.body['id'])}`);
      expect((await send(index)).text).toBe(again.text);
    }
    const written = (await Promise.all(tickets.map((id) => allOf(org, `/psa/api/tickets/${id}/notes`)))).flat();
    expect(written.map(({ id, body }) => `${text(id)} ${text(body)}`).toSorted()).toEqual(
      requests.map(({ index, again }) => `${text(again.body['id'])} ${bodyOf(index)}`).toSorted(),
    );
    // Nothing of a ticket counts its notes, so nothing of it may have moved.
    const after = await Promise.all(tickets.map(async (id) => (await org.call('GET', `/psa/api/tickets/${id}`)).text));
    expect(after).toEqual(before);

    await waitFor(async () => (await countOf(NOTES, { tenantId: org.id, ob: true })) === 0);
    const notes = onceEach(ids(requests, 'id'));
    expect(await timesTold(harness, org, { type: 'ticket.note_added', idField: 'note_id' })).toEqual(notes);
    const executions = await waitFor(
      async () => {
        const found = await allOf(org, '/agents/api/executions', { field: 'executions', cursor: 'cursor' });
        return found.length >= requests.length ? found : null;
      },
      { timeoutMs: 60 * SECOND, what: 'an execution for every note' },
    );
    const causes = await Promise.all(
      executions.map(async ({ id }) => (await org.call('GET', `/agents/api/executions/${text(id)}`)).body),
    );
    const started = causes.map((execution) => text(execution['trigger_event']?.['payload']?.['note_id']));
    expect(started.toSorted()).toEqual([...notes.keys()].toSorted());
  },
  240 * SECOND,
);

test(
  'portal sessions: one session and one entry in the trail for every key, and each token is shown once',
  async () => {
    const client = await newClient(org, 'Northwind');
    const people = await Promise.all(
      Array.from({ length: PER_ROUND * KILLS.length }, (): Promise<Person> => newPerson(org, client)),
    );
    const personOf = (index: number): Person | undefined => people[index % SHARED_EVERY === 0 ? 0 : index];
    const pathOf = (index: number): string => `/portal/api/client-users/${personOf(index)?.id}/sessions`;
    const send = (index: number): Promise<Answer> =>
      org.call('POST', pathOf(index), undefined, { 'idempotency-key': `s-${index}` });
    const { requests, cut } = await throughKills({
      send,
      count: () => harness.store.connection.collection('portal_sessions').countDocuments({ orgId: org.id }),
    });
    expect(cut).toBeGreaterThan(0);

    const tokens: string[] = [];
    for (const { index, first, again } of requests) {
      const { sessionId, expiresAt } = again.body;
      const replayed = { sessionId, expiresAt, token: null, tokenShown: true };
      expect((await send(index)).body).toEqual(replayed);
      // What was answered before the kill is not shown again.
      if (first?.status === 201)
        expect([again.body, first.body]).toEqual([replayed, { ...first.body, sessionId, expiresAt }]);
      const shown = [first, again].flatMap((answer) => (answer?.body['token'] ? [text(answer.body['token'])] : []));
      expect(shown.length).toBeLessThanOrEqual(1);
      for (const token of shown) expect(await standing(stack.baseUrl, token)).toBe('200');
      tokens.push(...shown);
    }
    // A kill may fall between keeping an answer and sending it; most tokens reach somebody all the same.
    expect(tokens.length).toBeGreaterThan(requests.length / 2);
    const kept = JSON.stringify(await harness.store.connection.collection('idempotency').find().toArray());
    expect(tokens.filter((token) => kept.includes(token))).toEqual([]);

    const sessions = ids(requests, 'sessionId');
    expect(new Set(sessions).size).toBe(requests.length);
    const users = [...new Set(requests.map(({ index }) => personOf(index)?.id ?? ''))];
    for (const id of users) {
      const mine = requests
        .filter(({ index }) => personOf(index)?.id === id)
        .map(({ again }) => text(again.body['sessionId']));
      const listed = await allOf(org, `/portal/api/client-users/${id}/sessions`);
      expect(listed.map((session) => text(session['id'])).toSorted()).toEqual(mine.toSorted());
      expect(listed.map(({ status, via }) => `${text(status)} ${text(via)}`)).toEqual(mine.map(() => 'active staff'));
      const user = (await org.call('GET', `/portal/api/client-users/${id}`)).body;
      expect(user).toMatchObject({ status: 'active', lastLoginAt: expect.any(String) as unknown });
    }

    await waitFor(async () => (await countOf(USERS, { tenantId: org.id, ob: true })) === 0);
    expect(await timesTold(harness, org, { type: 'client_user.activated', idField: 'client_user_id' })).toEqual(
      onceEach(users),
    );
    const entries = await harness.store.connection
      .collection('audit_entries')
      .find({ orgId: org.id, action: 'portal_session.created' })
      .toArray();
    const recorded = entries.map((entry) => text((entry['target'] as never)['id']));
    expect(recorded.toSorted()).toEqual(sessions.toSorted());
  },
  240 * SECOND,
);

/** Idempotency keys in any sequence: who sent what with which key before decides whether there is an effect, and what is answered. */
import {
  array,
  assert,
  asyncProperty,
  boolean,
  constantFrom,
  integer,
  nat,
  oneof,
  record as shape,
  type Arbitrary,
} from 'fast-check';
import type { Request } from 'express';
import { readConfig } from '../../../src/config';
import { Problem } from '../../../src/contracts/problem';
import type { Principal } from '../../../src/contracts/principal';
import { newId } from '../../../src/domain/ids';
import { KEPT_MS, LEASE_MS } from '../../../src/domain/idempotency';
import { enterOnce, type Run } from '../../../src/http/idempotency';
import {
  movableClock,
  newKey,
  openTestStore,
  signIn,
  testContext,
  testOperation,
  type TestStore,
} from '../auth/support';
import { joinStack, list, request, text, type Answer, type Harness, type TestOrg } from '../../support/harness';
import { PROPERTY_TIMEOUT_MS, served } from '../../support/properties';

let harness: Harness;
let store: TestStore;
beforeAll(async () => {
  harness = joinStack();
  store = await openTestStore();
});
afterAll(() => Promise.all([harness.close(), store.close()]));

const RUNS = 8;
const TICKETS = '/psa/api/tickets';
const KEYS = '/console/api/api-keys';
const WHO = ['first', 'second', 'session'] as const;
const WHAT = ['create', 'change', 'restore', 'absent', 'key'] as const;

type Who = (typeof WHO)[number];
type What = (typeof WHAT)[number];

interface Sent {
  who: Who;
  what: What;
  /** Which of the bodies; some are refused for good, some for now. */
  body: number;
  key: number;
  /** Sent so often at the same time. */
  copies: number;
  /** The same key and body as another client would write them. */
  isRewritten: boolean;
}

const sent: Arbitrary<Sent> = shape({
  who: constantFrom(...WHO),
  what: constantFrom(...WHAT),
  body: nat({ max: 3 }),
  key: nat({ max: 1 }),
  copies: oneof({ weight: 3, arbitrary: constantFrom(1) }, { weight: 1, arbitrary: integer({ min: 2, max: 4 }) }),
  isRewritten: boolean(),
});

const TAKEN = { system: 'halo', id: 'taken' };

/** Bodies and what each is answered with when it is carried out; 400 of the schema comes before the key is looked at. */
const BODIES: Record<What, { body: Record<string, unknown> | undefined; status: number }[]> = {
  create: [
    { body: { subject: 'One', priority: 'low' }, status: 201 },
    { body: { subject: 'Two', priority: 'low' }, status: 201 },
    { body: { subject: 'No board', boardId: 'brd_none' }, status: 400 },
    { body: { subject: 'Taken', externalRefs: [TAKEN] }, status: 409 },
  ],
  change: [
    { body: { subject: 'Changed', priority: 'high' }, status: 200 },
    { body: { subject: 'Changed again', priority: 'low' }, status: 200 },
    { body: { subject: 'No board', boardId: 'brd_none' }, status: 400 },
    { body: { subject: 'Taken', externalRefs: [TAKEN] }, status: 409 },
  ],
  restore: Array.from({ length: 4 }, () => ({ body: undefined, status: 200 })),
  absent: Array.from({ length: 4 }, (_unused, index) => ({ body: { subject: `Nobody’s ${index}` }, status: 404 })),
  key: [
    { body: { kind: 'platform', name: 'One', scopes: ['PSA'] }, status: 201 },
    { body: { kind: 'platform', name: 'Two', scopes: ['PSA'] }, status: 201 },
    { body: { kind: 'mail', name: 'No scope', scopes: [] }, status: 400 },
    { body: { kind: 'platform', name: 'One', scopes: ['CRM'] }, status: 201 },
  ],
};

const KEPT = new Set([200, 201, 204, 400, 404]);
const isReplay = (answer: Answer): boolean => answer.headers.get('idempotency-replayed') === 'true';
const withoutRequestId = ({ body }: Answer): unknown => ({ ...body, requestId: null });
const reversed = (body: Record<string, unknown> | undefined) =>
  body && Object.fromEntries(Object.entries(body).toReversed());

interface Known {
  body: string;
  answer: Answer;
}

/** A request whose key stands for nothing yet, and the status it must get. */
interface First {
  place: string;
  fingerprint: string;
  status: number;
}

/** A tenant with two keys and a session, one ticket to be changed, and what each key of theirs stands for. */
class Tenant {
  private readonly known = new Map<string, Known>();
  private made = { create: 0, key: 0 };
  private readonly org: TestOrg;
  private readonly headers: Record<Who, Record<string, string>>;
  private readonly ticket: string;
  private readonly removed: string;

  private constructor(org: TestOrg, headers: Record<Who, Record<string, string>>, ids: [string, string]) {
    this.org = org;
    this.headers = headers;
    [this.ticket, this.removed] = ids;
  }

  static async open(): Promise<Tenant> {
    const org = await harness.newOrg();
    const context = testContext(harness.store, { config: readConfig(harness.address.env) });
    const [{ key }, { cookie, csrfToken }] = await Promise.all([newKey(context, org.id), signIn(context, org.id)]);
    const make = async (body: unknown) => text((await org.call('POST', TICKETS, body)).body['id']);
    const ids: [string, string] = [await make({ subject: 'First' }), await make({ subject: 'To be removed' })];
    await make({ subject: 'Holds the name', externalRefs: [TAKEN] });
    await org.call('DELETE', `${TICKETS}/${ids[1]}`);
    const headers = {
      first: { authorization: `Bearer ${org.key}` },
      second: { authorization: `Bearer ${key}` },
      session: { cookie, 'x-csrf-token': csrfToken },
    };
    return new Tenant(org, headers, ids);
  }

  private addressOf(what: What): { method: string; path: string } {
    const paths: Record<What, string> = {
      create: TICKETS,
      change: `${TICKETS}/${this.ticket}`,
      restore: `${TICKETS}/${this.removed}/restore`,
      absent: `${TICKETS}/tkt_never`,
      key: KEYS,
    };
    return { method: what === 'change' || what === 'absent' ? 'PATCH' : 'POST', path: paths[what] };
  }

  private async ask({ who, what, body, key, copies, isRewritten }: Sent): Promise<Answer[]> {
    const wanted = BODIES[what][body]?.body;
    const value = isRewritten ? `"key-${key}"` : `key-${key}`;
    const one = () =>
      request(harness.address.baseUrl, {
        ...this.addressOf(what),
        body: isRewritten ? reversed(wanted) : wanted,
        headers: { ...this.headers[who], 'idempotency-key': value },
      });
    return Promise.all(Array.from({ length: copies }, one));
  }

  private expectReplay(answer: Answer, known: Known, what: What): void {
    expect([answer.status, isReplay(answer)]).toEqual([known.answer.status, true]);
    const isSecret = what === 'key' && known.answer.status === 201;
    const first = withoutRequestId(known.answer) as Record<string, unknown>;
    expect(withoutRequestId(answer)).toEqual(isSecret ? { ...first, key: null, keyShown: true } : first);
    for (const name of ['etag', 'location']) expect(answer.headers.get(name)).toBe(known.answer.headers.get(name));
  }

  async perform(asked: Sent): Promise<void> {
    const { who, what, key } = asked;
    // API keys are made by people alone; that refusal comes before any key is looked at.
    if (what === 'key' && who !== 'session') return;
    const place = `${who} ${what} ${key}`;
    const { body, status } = BODIES[what][asked.body] ?? { body: undefined, status: 0 };
    const fingerprint = JSON.stringify(body ?? null);
    const answers = await this.ask(asked);
    const known = this.known.get(place);
    // So does the refusal of a body that no schema takes, whatever the key stands for.
    if (known && !isUnkept(what, status)) {
      for (const answer of answers) {
        if (known.body === fingerprint) this.expectReplay(answer, known, what);
        else expect([answer.status, text(answer.body['code'])]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
      }
      return;
    }
    this.expectFirst({ place, fingerprint, status }, asked, answers);
  }

  /** The key was free: what is kept is carried out by one of the copies, what is not kept perhaps by each in turn. */
  private expectFirst({ place, fingerprint, status }: First, asked: Sent, answers: Answer[]): void {
    const { what } = asked;
    const isKept = KEPT.has(status) && !isUnkept(what, status);
    const rest = answers.filter((answer) => text(answer.body['code']) !== 'IDEMPOTENCY_IN_PROGRESS');
    const done = rest.filter((answer) => !isReplay(answer));
    const statuses = isKept ? [status] : done.map(() => status);
    expect({ asked, statuses: done.map((answer) => answer.status) }).toEqual({ asked, statuses });
    const [answer] = done;
    if (!answer || !isKept) return;
    const known = { body: fingerprint, answer };
    this.known.set(place, known);
    for (const replay of rest.filter(isReplay)) this.expectReplay(replay, known, what);
    if (status === 201) this.made[what === 'key' ? 'key' : 'create'] += 1;
  }

  /** As many records as there were answers of their own. */
  async expectEffects(): Promise<void> {
    const tickets = await this.org.call('GET', `${TICKETS}/count`);
    const restored = [...this.known.keys()].some((place) => place.includes('restore'));
    expect(tickets.body['count']).toBe(2 + Number(restored) + this.made.create);
    const keys = await request(harness.address.baseUrl, {
      method: 'GET',
      path: `${KEYS}?limit=200`,
      headers: this.headers.session,
    });
    expect(list(keys.body['items'])).toHaveLength(2 + this.made.key);
  }
}

/** A body that no schema takes is refused before the key is looked at. */
const isUnkept = (what: What, status: number): boolean => what === 'key' && status === 400;

test(
  'one effect and one answer per credential, path and key; other bodies are refused, refusals that pass are not kept',
  async () => {
    await assert(
      asyncProperty(array(sent, { minLength: 3, maxLength: 16, size: 'max' }), async (requests) => {
        const tenant = await Tenant.open();
        for (const one of requests) await tenant.perform(one);
        await tenant.expectEffects();
      }),
      served<[Sent[]]>(RUNS),
    );
  },
  PROPERTY_TIMEOUT_MS,
);

type Step =
  | { do: 'ask'; key: number; body: number }
  | { do: 'answer'; run: number; status: number }
  | { do: 'wait'; milliseconds: number };

/** Every status that a handler could answer with, and time that ends leases and lives. */
const step: Arbitrary<Step> = oneof(
  { weight: 5, arbitrary: shape({ do: constantFrom('ask' as const), key: nat({ max: 1 }), body: nat({ max: 1 }) }) },
  {
    weight: 4,
    arbitrary: shape({
      do: constantFrom('answer' as const),
      run: nat({ max: 5 }),
      status: oneof(
        constantFrom(200, 201, 202, 204, 400, 401, 402, 403, 404, 409, 410, 412, 413, 415, 422, 429, 500, 503),
        integer({ min: 500, max: 599 }),
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: shape({
      do: constantFrom('wait' as const),
      milliseconds: constantFrom(1_000, LEASE_MS - 1, LEASE_MS, LEASE_MS + 1, KEPT_MS, KEPT_MS + 1),
    }),
  },
);

/** Answers that the same request would get again. */
const STAY = new Set([400, 402, 404, 410, 413, 415, 422]);
const stays = (status: number): boolean => status < 300 || STAY.has(status);

interface Held {
  body: number;
  until: number;
  lease: number;
  ids: string;
  status: number | null;
}

interface Begun {
  key: number;
  /** What it holds: the very lease it was given. */
  held: Held;
  lease: number;
  run: Run;
}

const principal = (orgId: string): Principal => ({
  kind: 'key',
  id: 'key_model',
  keyId: 'key_model',
  name: 'model',
  orgId,
  tier: 'enterprise',
  keyTier: 'enterprise',
  apiVersion: '2026-11-20',
  scopes: ['PSA'],
});

const operation = testOperation({ kind: 'product', scopes: ['PSA'], permission: 'products:write' }, { method: 'POST' });

/** What came of asking, in a word. */
function namedAs(outcome: unknown): string {
  if (outcome instanceof Problem) return outcome.code;
  const { replay, run } = outcome as { replay?: { status: number }; run?: Run };
  if (replay) return `replay ${replay.status}`;
  return run?.isRepeat ? 'repeat' : 'run';
}

/** The life of keys, whatever becomes of the processes that run their requests. */
class Keys {
  private readonly clock = movableClock(new Date('2026-11-20T00:00:00.000Z'));
  private readonly context = testContext(store, { clock: this.clock });
  private readonly orgId = newId('org');
  private readonly held = new Map<number, Held>();
  private readonly runs: Begun[] = [];

  private ask(key: number, body: number) {
    const request = { originalUrl: '/psa/api/tickets', method: 'POST' } as Request;
    const asked = {
      operation,
      request,
      principal: principal(this.orgId),
      input: { params: {}, query: {}, body: { body } },
    };
    return enterOnce(this.context, asked, `key-${key}`).catch((error: unknown) => {
      if (error instanceof Problem) return error;
      throw error;
    });
  }

  /** What the key must be answered with now. */
  private expected(held: Held | undefined, body: number, now: number): string {
    if (!held) return 'run';
    if (held.body !== body) return 'idempotency_key_reused';
    if (held.status !== null) return `replay ${held.status}`;
    return held.lease <= now ? 'repeat' : 'idempotency_in_progress';
  }

  private async begin({ key, body }: Extract<Step, { do: 'ask' }>): Promise<void> {
    const now = this.clock.now().getTime();
    const known = this.held.get(key);
    const held = known && known.until > now ? known : undefined;
    const outcome = await this.ask(key, body);
    expect(namedAs(outcome)).toBe(this.expected(held, body, now));
    const { run } = outcome as { run?: Run };
    if (!run) return;
    const ids = [run.newId('tkt'), run.newId('evt')].join(' ');
    const fresh: Held = held ?? { body, until: now + KEPT_MS, lease: 0, ids, status: null };
    // A repeat meets the records of the run before it by their ids; a new request has ids of its own.
    expect(ids).toBe(fresh.ids);
    if (!held && known) expect(ids).not.toBe(known.ids);
    fresh.lease = now + LEASE_MS;
    this.held.set(key, fresh);
    this.runs.push({ key, held: fresh, lease: fresh.lease, run });
  }

  /** A run answers, in time or long after another has taken over: then it has nothing to say. */
  private async answer({ run: place, status }: Extract<Step, { do: 'answer' }>): Promise<void> {
    const [begun] = this.runs.splice(place % Math.max(1, this.runs.length), 1);
    if (!begun) return;
    const { key, held, lease, run } = begun;
    const said = { status, headers: {}, body: { status } };
    await (status < 300 ? run.keep(said) : run.refused(said));
    if (this.held.get(key) !== held || held.lease !== lease || held.status !== null) return;
    if (stays(status)) held.status = status;
    // What failed may have had its effect, and so may the run that it repeats: the ids stay those of that effect.
    else if (status >= 500 || run.isRepeat) held.lease = 0;
    else this.held.delete(key);
  }

  perform(one: Step): Promise<void> {
    if (one.do === 'ask') return this.begin(one);
    if (one.do === 'answer') return this.answer(one);
    this.clock.advance(one.milliseconds);
    return Promise.resolve();
  }
}

test(
  'a key is free, held, answered or taken over, whatever the status and however late the answer',
  async () => {
    await assert(
      asyncProperty(array(step, { minLength: 4, maxLength: 24, size: 'max' }), async (steps) => {
        const keys = new Keys();
        for (const one of steps) await keys.perform(one);
      }),
      served<[Step[]]>(60, 0.2),
    );
  },
  PROPERTY_TIMEOUT_MS,
);

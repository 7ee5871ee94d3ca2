/**
 * The limits are exact over processes: twenty windows of a minute under more than twice what they admit, with polls
 * that cost nothing and a process killed in the middle. Each tenant's minute begins at a moment of its own, so ten
 * tenants are chosen whose minutes turn while the test runs: real windows, without waiting ten minutes.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Context } from '../../src/context';
import { newId } from '../../src/domain/ids';
import { emissionInterval, phaseOf, TIER_RATES, WINDOW_MS } from '../../src/domain/rate-limit';
import { ensureTenant } from '../../src/store/tenants';
import { newKey } from '../integration/auth/support';
import { startFleet, type Fleet } from '../support/api-fleet';
import { request, type Answer, type Harness } from '../support/harness';

const SECOND = 1_000;
const TENANTS = 10;
/** Far below what is sent, so that a slow machine presses hard enough, too. */
const WINDOW = 12;
/** Between a client's requests. */
const PRESSING_MS = 700;
const TICKETS = '/psa/api/tickets?limit=1';

let fleet: Fleet;
let harness: Harness;
let context: Context;
beforeAll(async () => {
  fleet = await startFleet(3);
  ({ harness, context } = fleet);
}, 240 * SECOND);
afterAll(() => fleet.stop());

async function tenantOf(id: string, rateLimitPerMinute: number): Promise<string> {
  await ensureTenant(harness.store, {
    _id: id,
    name: 'Test org',
    tier: 'enterprise',
    rateLimitPerMinute,
    agentLimit: null,
    creditAllocation: null,
    timezone: 'UTC',
    createdAt: new Date(),
  });
  return id;
}

/** An id whose window turns between `fromMs` and `toMs` from now. */
function idTurning(fromMs: number, toMs: number): string {
  for (let attempt = 0; attempt < 10_000; attempt += 1) {
    const id = newId('org');
    const left = WINDOW_MS - ((Date.now() - phaseOf(id) + WINDOW_MS) % WINDOW_MS);
    if (left > fromMs && left < toMs) return id;
  }
  throw new Error('no such id');
}

interface Sent {
  sentAt: number;
  answeredAt: number;
  /** Null when the process died before it answered. */
  answer: Answer | null;
}

/** Sends to one process again and again until `untilMs`, at the given pace. */
async function load(baseUrl: string, headers: Record<string, string>, pace: { everyMs: number; untilMs: number }) {
  const all: Sent[] = [];
  while (performance.now() < pace.untilMs) {
    const sentAt = performance.now();
    const answer = await request(baseUrl, { method: 'GET', path: TICKETS, headers }).catch(() => null);
    all.push({ sentAt, answeredAt: performance.now(), answer });
    await pause(pace.everyMs);
  }
  return all;
}

const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const windowOf = (answer: Answer): number => Number(answer.headers.get('x-ratelimit-reset'));

/** How many of each kind each window saw; windows are told apart by when they end. */
function byWindow(sent: Sent[]) {
  const windows = new Map<number, { admitted: number; refused: number }>();
  for (const { answer } of sent) {
    if (!answer) continue;
    const counts = windows.get(windowOf(answer)) ?? { admitted: 0, refused: 0 };
    counts[answer.status === 200 ? 'admitted' : 'refused'] += 1;
    windows.set(windowOf(answer), counts);
  }
  return [...windows].toSorted(([one], [other]) => one - other).map(([, counts]) => counts);
}

async function tenantUnderLoad(span: { turnsMs: readonly [number, number]; untilMs: number }) {
  const orgId = await tenantOf(idTurning(...span.turnsMs), WINDOW);
  const { key } = await newKey(context, orgId);
  const poller = await newKey(context, orgId);
  const [, second] = fleet.apis;
  const url = second?.baseUrl ?? '';
  const first = await request(url, { method: 'GET', path: TICKETS, headers: bearer(poller.key) });
  const poll = { ...bearer(poller.key), 'if-none-match': first.headers.get('etag') ?? '' };
  const [polls, ...sent] = await Promise.all([
    load(url, poll, { everyMs: PRESSING_MS, untilMs: span.untilMs }),
    ...fleet.apis.map(({ baseUrl }) => load(baseUrl, bearer(key), { everyMs: PRESSING_MS, untilMs: span.untilMs })),
  ]);
  // The first read is a request like any other.
  return { polls, sent: [{ sentAt: 0, answeredAt: 0, answer: first }, ...sent.flat()] };
}

test(
  'twenty windows admit exactly what they may, polls are free, and a killed process takes nothing along',
  async () => {
    const startedAt = performance.now();
    const span = { turnsMs: [12 * SECOND, 22 * SECOND] as const, untilMs: startedAt + 34 * SECOND };
    const running = Promise.all(Array.from({ length: TENANTS }, () => tenantUnderLoad(span)));
    await pause(17 * SECOND);
    await fleet.apis[0]?.api.kill();
    const tenants = await running;
    await fleet.apis[0]?.api.start();

    for (const { polls, sent } of tenants) {
      expect(new Set(polls.map(({ answer }) => answer?.status))).toEqual(new Set([304]));
      // Cut off by the kill: charged, perhaps, but answered to nobody.
      const lost = sent.filter(({ answer, sentAt }) => !answer && sentAt - startedAt < 17.2 * SECOND).length;
      const windows = byWindow(sent);
      expect(windows).toHaveLength(2);
      for (const { admitted, refused } of windows) {
        expect(admitted + refused).toBeGreaterThan(2 * WINDOW);
        expect(admitted).toBeLessThanOrEqual(WINDOW);
        expect(admitted + lost).toBeGreaterThanOrEqual(WINDOW);
      }
    }
    // The kill may hide a request of a few tenants at most; everywhere else the count is exact.
    const exact = tenants.flatMap(({ sent }) => byWindow(sent)).filter(({ admitted }) => admitted === WINDOW);
    expect(exact.length).toBeGreaterThanOrEqual(2 * TENANTS - 5);
  },
  120 * SECOND,
);

test(
  'a key on three processes gets its burst and its rate, and at no time more; refusals and polls cost it nothing',
  async () => {
    const { burst } = TIER_RATES.standard;
    const interval = emissionInterval('standard');
    const orgId = await tenantOf(newId('org'), 100_000);
    const { key, record } = await newKey(context, orgId);
    await harness.store.connection
      .collection('api_keys')
      .updateOne({ _id: record._id as never }, { $set: { tier: 'standard' } });
    const startedAt = performance.now();
    const untilMs = startedAt + 7 * SECOND;
    const loads = await Promise.all(
      fleet.apis.flatMap(({ baseUrl }) => [1, 2].map(() => load(baseUrl, bearer(key), { everyMs: 20, untilMs }))),
    );
    const sent = loads.flat();
    const admitted = sent.filter(({ answer }) => answer?.status === 200);
    expect(sent.length).toBeGreaterThan(2 * admitted.length);
    // Whatever was decided between two moments was sent after the one and answered before the other.
    const from = admitted.map(({ sentAt }) => sentAt).toSorted((a, b) => a - b);
    const over = from.flatMap((start) =>
      from
        .filter((end) => end >= start)
        .map((_end, index, ends) => {
          const until = ends[index] ?? start;
          const within = admitted.filter((one) => one.sentAt >= start && one.answeredAt <= until).length;
          return within - (burst + (until - start) / interval);
        })
        .filter((excess) => excess > 1),
    );
    expect(over).toEqual([]);
    const span = Math.max(...admitted.map(({ answeredAt }) => answeredAt)) - startedAt;
    expect(admitted.length).toBeLessThanOrEqual(burst + Math.floor(span / interval) + 1);
    expect(admitted.length).toBeGreaterThanOrEqual(burst + Math.floor(span / interval) - 3);
  },
  60 * SECOND,
);

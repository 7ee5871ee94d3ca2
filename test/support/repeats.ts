/** Requests that a killed process leaves unanswered, and their repeats by the same idempotency key. */
import { list, text, waitFor, type Answer, type Body, type Harness, type TestOrg } from './harness';
import type { ProductProcess } from './processes';

/** What a lease is waited out for, without the wait: the process that held it is dead. */
export const endLeases = (harness: Harness, org: TestOrg) =>
  harness.store.connection
    .collection('idempotency')
    .updateMany({ _id: { $regex: `^${org.id}:` }, status: null } as never, { $set: { lease_until: new Date(0) } });

/** Every entry of a list, page by page. */
export async function allOf(
  org: TestOrg,
  path: string,
  { field, cursor } = { field: 'items', cursor: 'continuationToken' },
): Promise<Body[]> {
  const found: Body[] = [];
  let next = '';
  do {
    const page = await org.call('GET', `${path}?limit=50${next ? `&${cursor}=${encodeURIComponent(next)}` : ''}`);
    found.push(...list(page.body[field]));
    next = text(page.body[cursor === 'cursor' ? 'next_cursor' : cursor]);
  } while (next);
  return found;
}

/** One key: what it was answered before the kill, if anything, and what its first repeat was. */
export interface Repeated {
  index: number;
  first: Answer | null;
  again: Answer;
}

/** The moments of a round that a kill can be laid on. */
export interface Moments {
  /** The first answer has come. */
  answered: Promise<unknown>;
  /** So many records of the round are in the store. */
  written: (count: number) => Promise<unknown>;
}

export interface Writes {
  harness: Harness;
  api: ProductProcess;
  org: TestOrg;
  perRound: number;
  /** One round each: resolves when the process is to die. */
  kills: readonly ((moments: Moments) => Promise<unknown>)[];
  send: (index: number) => Promise<Answer>;
  /** Records that there are now. */
  count: () => Promise<number>;
}

/** Looks without a pause, so that a kill comes while the state still lasts. */
export async function atOnce(look: () => Promise<boolean>): Promise<void> {
  const until = performance.now() + 60_000;
  while (performance.now() < until) if (await look()) return;
  throw new Error('the moment to kill did not come');
}

/**
 * Rounds of writes at once, each with its own key and cut off by a kill, then repeated until it is answered with 201.
 * `cut` counts records that were in the store when their request was not answered: without any, nothing was shown.
 */
export async function repeatedThroughKills(writes: Writes): Promise<{ requests: Repeated[]; cut: number }> {
  const { harness, api, org, perRound, kills, send, count } = writes;
  const requests: Repeated[] = [];
  let cut = 0;
  for (const [round, kill] of kills.entries()) {
    const before = await count();
    const indexes = Array.from({ length: perRound }, (_unused, index) => round * perRound + index);
    const sent = indexes.map(send);
    const outcomes = Promise.all(sent.map((answer) => answer.catch(() => null)));
    const answered = Promise.any(sent).catch(() => null);
    const written = (more: number) => atOnce(async () => (await count()) - before >= more);
    await kill({ answered, written });
    await api.kill();
    const answers = await outcomes;
    cut += (await count()) - before - answers.filter((answer) => answer?.status === 201).length;
    await api.start();
    await endLeases(harness, org);
    for (const [position, index] of indexes.entries()) {
      const again = await waitFor(
        async () => {
          const answer = await send(index).catch(() => null);
          return answer?.status === 201 ? answer : null;
        },
        { what: `an answer to request ${index}` },
      );
      requests.push({ index, first: answers[position] ?? null, again });
    }
  }
  return { requests, cut };
}

/** How often each record was told of by events of this type. */
export async function timesTold(
  { store }: Harness,
  org: TestOrg,
  { type, idField }: { type: string; idField: string },
): Promise<Map<string, number>> {
  const events = await store.connection
    .collection<{ payload: Record<string, unknown> }>('events')
    .find({ org_id: org.id, event_type: type })
    .toArray();
  const times = new Map<string, number>();
  for (const { payload } of events) {
    const id = String(payload[idField]);
    times.set(id, (times.get(id) ?? 0) + 1);
  }
  return times;
}

export const onceEach = (ids: readonly string[]): Map<string, number> => new Map(ids.map((id) => [id, 1]));

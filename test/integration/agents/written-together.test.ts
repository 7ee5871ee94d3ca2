/** What is written together with others: the same as if each were written alone, for everyone in it. */
import { newId } from '../../../src/domain/ids';
import { credits, ensureMonth, reserve, settle, type Reservation } from '../../../src/store/credits';
import { eventKeyOf, findEvent, recordEvent, type EventRecord } from '../../../src/store/events';
import type { Write } from '../../../src/store/execution-writes';
import { writeExecution } from '../../../src/store/execution-rounds';
import { executions, findExecution, openExecution, type ExecutionRecord } from '../../../src/store/executions';
import { joinStack, type Harness } from '../../support/harness';
import { pastExecution } from './support';

let harness: Harness;
beforeAll(() => {
  harness = joinStack();
});
afterAll(() => harness.close());

const MANY = 12;
const numbers = Array.from({ length: MANY }, (_unused, number) => number);

const stepSlot = { step_id: 'one', step_type: 'http_request', path: '0', status: 'running' as const, output: {} };

/** Executions with one step under way, in the store. */
async function running(orgId = newId('org')): Promise<ExecutionRecord[]> {
  const records = numbers.map((number) => ({
    ...pastExecution(orgId, `evt_${number}`, { created_at: new Date() }),
    status: 'running' as const,
    completed_at: null,
    seq: 3,
    steps: [{ ...stepSlot, error: null, attempts: 0, credits_used: 0, started_at: new Date(), completed_at: null }],
  }));
  await Promise.all(records.map((record) => openExecution(harness.store, record)));
  return records;
}

/** Beyond what a document can hold. */
const TOO_LARGE = 17 * 1024 * 1024;

const endOf = (known: ExecutionRecord, more: Partial<Write> = {}): Write => ({
  known,
  now: new Date(),
  ends: 0,
  credits: 2,
  slots: [{ index: 0, fields: { status: 'completed', output: { said: 'yes', missing: undefined }, attempts: 1 } }],
  ...more,
});

const stored = (record: ExecutionRecord): Promise<ExecutionRecord | null> =>
  findExecution(harness.store, record.org_id, record._id);

const writeAll = (writes: Write[]) => Promise.all(writes.map((write) => writeExecution(harness.store, write)));

describe('ends of steps', () => {
  test('are answered as the store has them, whoever was written along', async () => {
    const records = await running();
    const written = await writeAll(records.map((record) => endOf(record, { status: 'completed' })));
    expect(written).toEqual(await Promise.all(records.map(stored)));
    expect(written.map((record) => [record?.seq, record?.credits_used, record?.status])).toEqual(
      numbers.map(() => [4, 2, 'completed']),
    );
    expect(written[MANY - 1]?.steps[0]?.output).toEqual({ said: 'yes', missing: null });
    // Most of them had a mark, or nothing was written together and this shows nothing.
    expect(written.filter((record) => record?.mark)).toHaveLength(MANY - 1);
  });

  test('what has changed since it was read is written too, and counted once', async () => {
    const records = await running();
    const changed = records.slice(4, 6).map(({ _id }) => _id);
    const shown = { $set: { 'steps.0.attempts': 7 }, $inc: { seq: 1 } };
    await executions.in(harness.store).collection.updateMany({ _id: { $in: changed } } as never, shown);
    const written = await writeAll(records.map((record) => endOf(record)));
    expect(written).toEqual(await Promise.all(records.map(stored)));
    const seqs = numbers.map((number) => (number === 4 || number === 5 ? 5 : 4));
    expect(written.map((record) => [record?.seq, record?.credits_used])).toEqual(seqs.map((seq) => [seq, 2]));
  });

  test('of an execution that has ended meanwhile nothing is written, and the others are', async () => {
    const records = await running();
    const cancelled = { $set: { status: 'cancelled', seq: 9 } };
    await executions.in(harness.store).collection.updateOne({ _id: records[6]?._id } as never, cancelled);
    const written = await writeAll(records.map((record) => endOf(record)));
    expect(numbers.filter((number) => written[number] === null)).toEqual([6]);
    expect(await stored(records[6] as ExecutionRecord)).toMatchObject({ status: 'cancelled', seq: 9, credits_used: 0 });
    expect(await stored(records[7] as ExecutionRecord)).toMatchObject({ seq: 4, credits_used: 2 });
  });

  test('two ends of one step that are written together are one', async () => {
    const records = await running();
    const twice = [...records, ...records.slice(8, 10)];
    const written = await writeAll(twice.map((record) => endOf(record)));
    expect(written.slice(MANY)).toEqual([null, null]);
    expect(await stored(records[8] as ExecutionRecord)).toMatchObject({ seq: 4, credits_used: 2 });
  });

  test('one that is written alone is answered as the store has it, as it was known or not', async () => {
    const [asKnown, changed] = (await running()) as [ExecutionRecord, ExecutionRecord];
    const shown = { $set: { 'steps.0.attempts': 7 }, $inc: { seq: 1 } };
    await executions.in(harness.store).collection.updateOne({ _id: changed._id } as never, shown);
    for (const [record, seq] of [
      [asKnown, 4],
      [changed, 5],
    ] as const) {
      const written = await writeExecution(harness.store, endOf(record, { status: 'completed' }));
      expect(written).toEqual(await stored(record));
      expect(written).toMatchObject({ seq, credits_used: 2, status: 'completed' });
      expect(written?.steps[0]?.output).toEqual({ said: 'yes', missing: null });
      expect(await writeExecution(harness.store, endOf(record))).toBeNull();
    }
  });

  test('one that the store refuses fails alone, with its own error', async () => {
    const records = await running();
    const tooLarge = endOf(records[5] as ExecutionRecord, {
      slots: [{ index: 0, fields: { status: 'completed', output: { text: 'x'.repeat(TOO_LARGE) } } }],
    });
    const outcomes = await Promise.allSettled(
      records.map((record, number) => writeExecution(harness.store, number === 5 ? tooLarge : endOf(record))),
    );
    expect(numbers.filter((number) => outcomes[number]?.status === 'rejected')).toEqual([5]);
    expect(await stored(records[5] as ExecutionRecord)).toMatchObject({ seq: 3 });
    expect(await stored(records[11] as ExecutionRecord)).toMatchObject({ seq: 4, credits_used: 2 });
  });
});

describe('inserts', () => {
  test('an id that is taken is said to be so to whoever came second, and to nobody beside', async () => {
    const taken = (await running(newId('org')))[0] as ExecutionRecord;
    const fresh = numbers.map((number) => ({ ...taken, _id: newId('exe'), event_id: `evt_${number}` }));
    const all = [...fresh, taken, ...fresh.slice(0, 2)];
    const opened = await Promise.all(all.map((record) => openExecution(harness.store, record)));
    expect(opened).toEqual([...fresh.map(() => true), false, false, false]);
    const count = await executions.in(harness.store).countDocuments({ _id: { $in: fresh.map(({ _id }) => _id) } });
    expect(count).toBe(MANY);
  });

  test.each([
    ['too large for a document', { text: 'x'.repeat(TOO_LARGE) }],
    ['of a name that cannot be stored', { 'a\0b': 1 }],
  ])('one that is %s fails alone, with its own error', async (_what, payload) => {
    const taken = (await running())[0] as ExecutionRecord;
    const fresh = numbers.map((number) => ({ ...taken, _id: newId('exe'), event_id: `evt_${number}` }));
    const bad = { ...taken, _id: newId('exe'), trigger_event: { ...taken.trigger_event, payload } };
    const all = [...fresh.slice(0, 4), bad, ...fresh.slice(4)];
    const opened = await Promise.allSettled(all.map((record) => openExecution(harness.store, record)));
    expect(numbers.filter((number) => opened[number]?.status === 'rejected')).toEqual([4]);
    expect(opened.filter((outcome) => outcome.status === 'fulfilled' && outcome.value)).toHaveLength(MANY);
  });

  test('events that come together are recorded once each, and a repeat is told what came first', async () => {
    const orgId = newId('org');
    const event = (id: string, n: number): Omit<EventRecord, '_id'> => ({
      org_id: orgId,
      event_id: id,
      event_type: 'custom.test',
      source_product: 'psa',
      occurred_at: new Date().toISOString(),
      received_at: new Date(),
      client_id: null,
      payload: { n },
      sequence: null,
      subject: null,
      resource_id: null,
      webhooks: [],
      outcomes: [],
      opening: false,
    });
    const ids = [...numbers.map((number) => `evt_${number}`), 'evt_3', 'evt_7'];
    const answers = await Promise.all(ids.map((id, n) => recordEvent(harness.store, event(id, n))));
    expect(answers.map(({ duplicate }) => duplicate)).toEqual([...numbers.map(() => false), true, true]);
    expect(answers.slice(MANY).map(({ record }) => record.payload)).toEqual([{ n: 3 }, { n: 7 }]);
    expect(await findEvent(harness.store, orgId, 'evt_3')).toMatchObject({ _id: eventKeyOf(orgId, 'evt_3') });
  });
});

describe('credits', () => {
  const reservation = (orgId: string, id: string): Reservation => ({
    orgId,
    month: '2026-01',
    id,
    agentId: 'agt_1',
    tier: 'quick',
    credits: 1,
  });

  test('of calls that ask together as many are held as there are credits, in each org', async () => {
    const now = new Date();
    const orgs = [newId('org'), newId('org')];
    for (const orgId of orgs) await ensureMonth(harness.store, { orgId, month: '2026-01', allocation: 5 }, now);
    const asked = numbers.flatMap((number) => orgs.map((orgId) => reservation(orgId, `exe_${number}:0`)));
    const held = await Promise.all(asked.map((one) => reserve(harness.store, one, { begun: now, now })));
    for (const orgId of orgs) {
      const mine = held.filter((_outcome, index) => asked[index]?.orgId === orgId);
      expect(mine.filter((outcome) => outcome === 'insufficient')).toHaveLength(MANY - 5);
    }
    // Settled together, and once: the second settlement finds what the first has left.
    await Promise.all([...asked, ...asked].map((one) => settle(harness.store, one, 1, now)));
    const accounts = await credits
      .in(harness.store)
      .find({ org_id: { $in: orgs } })
      .lean()
      .exec();
    expect(accounts.map(({ available, total_used: used }) => [available, used])).toEqual([
      [0, 5],
      [0, 5],
    ]);
  });
});

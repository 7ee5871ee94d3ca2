/** Tickets and executions in numbers, written as the product leaves them: the same documents, the same indexes. */
import { mongo } from 'mongoose';
import { executionRecord } from '../../src/domain/execution';
import { newId } from '../../src/domain/ids';
import type { AnyRecord } from '../../src/resources/resource';
import { tickets } from '../../src/resources/tickets';
import type { OpenStore } from '../../src/store/connect';
import { executions, type ExecutionRecord } from '../../src/store/executions';
import { declaredCollections, indexCommand } from '../../src/store/collection';
import { toDocument } from '../../src/store/resource-documents';
import { defaultsOf } from '../../src/services/product/changes';
import { pause } from './lanes';
import { agentOf, stepsOf } from './tenants';

const BATCH = 5_000;
const IN_FLIGHT = 4;
const PROGRESS_MS = 2_000;
const SECOND_MS = 1_000;

export type Log = (line: string) => void;

/** Says every two seconds that it is still at it. */
export async function withProgress<Result>(log: Log, say: () => string, work: Promise<Result>): Promise<Result> {
  const startedAt = performance.now();
  const timer = setInterval(() => {
    log(`bench: ${say()}, ${Math.round((performance.now() - startedAt) / SECOND_MS)} s`);
  }, PROGRESS_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

interface Document extends Record<string, unknown> {
  _id: string;
}

/** A collection without Mongoose, as a bare program would use it. */
export function collectionOf(store: OpenStore, name: string): mongo.Collection<Document> {
  const { db } = store.connection;
  if (!db) throw new Error('the store is not connected');
  return db.collection<Document>(name);
}

interface Seeding {
  /** The tenant that is measured; it has half of all tickets. */
  orgId: string;
  rows: number;
  log: Log;
}

const STATUSES = ['new', 'open', 'in_progress', 'waiting_customer', 'waiting_vendor', 'resolved', 'closed'];
const PRIORITIES = ['low', 'medium', 'high', 'critical'];
const SOURCES = ['portal', 'email', 'phone', 'api', 'rmm', 'agent'];
const OTHER_ORGS = 19;
const DAY_MS = 86_400_000;
/** Knuth's multiplier: spreads neighbours apart, the same way in each run. */
const SPREAD = 2_654_435_761;

const spread = (index: number, salt: number): number => (((index + 1) * SPREAD) ^ (salt * 0x9e3779b1)) >>> 8;
const pick = (values: readonly string[], index: number, salt: number): string =>
  values[spread(index, salt) % values.length] ?? '';
const idsOf = (prefix: string, count: number): string[] => Array.from({ length: count }, () => newId(prefix));

/** What tickets of one run have in common. */
function ticketMaker({ rows, orgId }: Seeding) {
  const startMs = Date.now() - rows * SECOND_MS;
  const orgs = idsOf('org', OTHER_ORGS);
  const boards = idsOf('brd', 5);
  const companies = idsOf('cmp', 200);
  const contacts = idsOf('con', 1_000);
  const assignees = idsOf('usr', 30);
  const defaults = defaultsOf(tickets);
  return (index: number): Record<string, unknown> => {
    const created = new Date(startMs + index * SECOND_MS);
    const status = pick(STATUSES, index, 1);
    const ended =
      status === 'resolved' || status === 'closed' ? new Date(created.getTime() + DAY_MS).toISOString() : null;
    const record: AnyRecord = {
      ...defaults,
      id: newId('tkt', created),
      version: 1 + (spread(index, 2) % 5),
      number: 1_001 + index,
      subject: `The ${pick(['printer', 'mail', 'VPN', 'laptop'], index, 3)} of desk ${spread(index, 4) % 100_000} is out`,
      description: 'Since this morning. It worked yesterday, and nothing was changed that we know of.',
      status,
      priority: pick(PRIORITIES, index, 5),
      source: pick(SOURCES, index, 6),
      boardId: pick(boards, index, 7),
      companyId: pick(companies, index, 8),
      contactId: pick(contacts, index, 9),
      assigneeId: spread(index, 10) % 4 === 0 ? null : pick(assignees, index, 11),
      escalationLevel: spread(index, 12) % 4,
      dueAt: spread(index, 13) % 3 === 0 ? null : new Date(created.getTime() + 2 * DAY_MS).toISOString(),
      resolvedAt: ended,
      closedAt: status === 'closed' ? ended : null,
      externalRefs: [],
      customFields: {},
      createdAt: created.toISOString(),
      updatedAt: created.toISOString(),
      createdBy: 'key_bench',
      deletedAt: null,
    };
    const tenant = index % 2 === 0 ? orgId : (orgs[spread(index, 14) % OTHER_ORGS] ?? orgId);
    // The events of a ticket have been handed over, which leaves an empty outbox behind.
    return { ...toDocument(tickets, tenant, record), _out: [] };
  };
}

/** Three light steps that have ended. */
function executionMaker({ rows, orgId }: Seeding) {
  const startMs = Date.now() - rows * SECOND_MS;
  const agents = idsOf('agt', 4);
  const definition = agentOf('light', stepsOf('')['light']);
  return (index: number): ExecutionRecord => {
    const now = new Date(startMs + index * SECOND_MS);
    const id = newId('exe', now);
    const event = {
      id: newId('evt', now),
      org_id: orgId,
      event_type: 'custom.light',
      source_product: 'psa',
      occurred_at: now.toISOString(),
      client_id: null,
      payload: { name: 'Ada', ticket: { id: 'tkt_1', priority: 'high' } },
    };
    const agent = {
      id: agents[index % agents.length] ?? '',
      name: 'Bench',
      version: 1,
      definition: definition as never,
    };
    const opened = executionRecord({ id, event, agent, now, org: { name: 'Bench org' } });
    const steps = opened.steps.map((step) => ({
      ...step,
      status: 'completed' as const,
      started_at: now,
      completed_at: now,
    }));
    return { ...opened, steps, status: 'completed', started_at: now, completed_at: now, seq: 3, start_pending: false };
  };
}

async function insertAll(
  store: OpenStore,
  { name, count }: { name: string; count: number },
  make: (index: number) => unknown,
  log: Log,
): Promise<void> {
  const into = collectionOf(store, name);
  let begun = 0;
  let written = 0;
  const lane = async (): Promise<void> => {
    while (begun < count) {
      const from = begun;
      begun = Math.min(count, begun + BATCH);
      const batch = Array.from({ length: begun - from }, (_, offset) => make(from + offset));
      await into.insertMany(batch as never[], { ordered: false });
      written += batch.length;
      // Making a batch keeps the process busy; progress must get a turn.
      await pause(0);
    }
  };
  const lanes = Promise.all(Array.from({ length: IN_FLIGHT }, lane));
  await withProgress(log, () => `${written} of ${count} ${name} written`, lanes);
}

/** Builds the declared indexes over a connection that waits as long as it takes. */
async function buildIndexes(uri: string, log: Log): Promise<void> {
  const client = await mongo.MongoClient.connect(uri);
  const filled = [tickets.collection, executions.name];
  try {
    for (const { name, indexes } of declaredCollections().filter((declared) => filled.includes(declared.name))) {
      const building = client.db().collection(name).createIndexes(indexes.map(indexCommand));
      await withProgress(log, () => `building ${indexes.length} indexes of ${name}`, building);
    }
  } finally {
    await client.close();
  }
}

/** Fills a database: so many tickets, and executions of the measured tenant. */
export async function seedRows(
  uri: string,
  store: OpenStore,
  seeding: Seeding & { executionRows: number },
): Promise<void> {
  const { rows, executionRows: count, log } = seeding;
  await store.connection.asPromise();
  await insertAll(store, { name: tickets.collection, count: rows }, ticketMaker(seeding), log);
  await insertAll(store, { name: 'executions', count }, executionMaker({ ...seeding, rows: count }), log);
  await buildIndexes(uri, log);
}

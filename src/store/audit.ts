/** The audit trail of each tenant: appended to, read, never changed. The number in the id makes the chain one line. */
import type { AuditEntry } from '../contracts/audit';
import { Json, Nullable, Type, type Static } from '../contracts/schema';
import { followChain, GENESIS, linkedTo, type AuditDraft, type ChainHead } from '../domain/audit';
import { madePer } from '../domain/memoised';
import { collection, Instant, isDuplicate, type Store } from './collection';

const AuditRecord = Type.Object({
  /** Tenant and number: of two writers that take the same number, one loses and follows the other. */
  _id: Type.String(),
  id: Type.String(),
  orgId: Type.String(),
  sequence: Type.Integer(),
  at: Instant(),
  actor: Type.Unsafe<AuditEntry['actor']>(Json()),
  action: Type.Unsafe<AuditEntry['action']>(Type.String()),
  target: Type.Unsafe<AuditEntry['target']>(Json()),
  details: Json(),
  requestId: Nullable(Type.String()),
  previousHash: Type.String(),
  hash: Type.String(),
});
type AuditRecord = Static<typeof AuditRecord>;

export const auditEntries = collection('audit_entries', AuditRecord, [
  { name: 'chain', keys: { orgId: 1, sequence: -1 }, unique: true },
  // The same cause leads to the same id, so a repeated append finds that it was done.
  { name: 'cause', keys: { id: 1 }, unique: true },
  { name: 'action', keys: { orgId: 1, action: 1, sequence: -1 } },
  { name: 'actor', keys: { orgId: 1, 'actor.id': 1, sequence: -1 } },
  { name: 'target', keys: { orgId: 1, 'target.id': 1, sequence: -1 } },
]);

/** Each lost attempt means that another process appended, so many in a row are as good as impossible. */
const APPEND_ATTEMPTS = 200;
const CHAINS_MAX = 10_000;
/** Entries that are read at a time by a walk, and how often it reads. */
const BATCH = 1_000;
const BATCHES_MAX = 100;

/** What this process knows of a tenant's chain. Appends of one process queue up; only processes compete. */
interface Chain {
  head: ChainHead | null;
  last: Promise<unknown>;
}

const chainsOf = madePer((_connection: Store['connection']) => new Map<string, Chain>());

function chainOf(store: Store, orgId: string): Chain {
  const chains = chainsOf(store.connection);
  const chain = chains.get(orgId) ?? { head: null, last: Promise.resolve() };
  chains.delete(orgId);
  chains.set(orgId, chain);
  // A chain that is forgotten too early costs a read of its head: the store decides who comes next.
  const oldest = chains.size > CHAINS_MAX ? chains.keys().next().value : undefined;
  if (oldest !== undefined) chains.delete(oldest);
  return chain;
}

const recordOf = ({ tenantId, at, ...entry }: AuditEntry): AuditRecord => ({
  ...entry,
  _id: `${tenantId}:${entry.sequence}`,
  orgId: tenantId,
  at: new Date(at),
});

/** A moment that was edited into something else must not hide the rest of the trail. */
function isoOf(moment: unknown): string {
  const at = moment instanceof Date ? moment : new Date(String(moment));
  return Number.isNaN(at.getTime()) ? String(moment) : at.toISOString();
}

const entryOf = (record: AuditRecord): AuditEntry => ({
  id: record.id,
  tenantId: record.orgId,
  sequence: record.sequence,
  at: isoOf(record.at),
  actor: record.actor,
  action: record.action,
  target: record.target,
  details: record.details,
  requestId: record.requestId,
  previousHash: record.previousHash,
  hash: record.hash,
});

async function readHead(store: Store, orgId: string): Promise<ChainHead> {
  const last = await auditEntries
    .in(store)
    .findOne({ orgId }, { sequence: 1, hash: 1, _id: 0 })
    .sort({ sequence: -1 })
    .lean<ChainHead>();
  return last ?? GENESIS;
}

async function place(store: Store, chain: Chain, draft: AuditDraft): Promise<AuditEntry> {
  const model = auditEntries.in(store);
  for (let attempt = 0; attempt < APPEND_ATTEMPTS; attempt += 1) {
    const entry = linkedTo(chain.head ?? (await readHead(store, draft.tenantId)), draft);
    chain.head = null;
    try {
      await model.collection.insertOne(recordOf(entry) as never);
      chain.head = { sequence: entry.sequence, hash: entry.hash };
      return entry;
    } catch (error) {
      if (!isDuplicate(error)) throw error;
    }
    const same = await model.findOne({ id: draft.id, orgId: draft.tenantId }).lean<AuditRecord>();
    if (same) return entryOf(same);
  }
  throw new Error(`No place in the audit chain of ${draft.tenantId} after ${APPEND_ATTEMPTS} attempts`);
}

/** Appends an entry, or answers the one that the same id has already. */
export function appendAudit(store: Store, draft: AuditDraft): Promise<AuditEntry> {
  const chain = chainOf(store, draft.tenantId);
  const placed = chain.last.then(() => place(store, chain, draft));
  chain.last = placed.catch(() => undefined);
  return placed;
}

/** True when the trail has the entry with this id. */
export const hasAudit = async (store: Store, id: string): Promise<boolean> =>
  (await auditEntries.in(store).exists({ id })) !== null;

/** The end of the chain as this process last wrote it; null when it wrote none. */
const rememberedHead = (store: Store, orgId: string): ChainHead | null =>
  chainsOf(store.connection).get(orgId)?.head ?? null;

export interface AuditQuery {
  action?: AuditEntry['action'] | undefined;
  actor?: string | undefined;
  target?: string | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
}

/** One page, newest first. */
export async function pageOfAudit(
  store: Store,
  orgId: string,
  query: AuditQuery,
  page: { limit: number; before: number | null },
): Promise<AuditEntry[]> {
  const { action, actor, target, from, to } = query;
  const filter = {
    orgId,
    ...(action ? { action } : {}),
    ...(actor ? { 'actor.id': actor } : {}),
    ...(target ? { 'target.id': target } : {}),
    ...(from || to ? { at: { ...(from ? { $gte: from } : {}), ...(to ? { $lte: to } : {}) } } : {}),
    // Nothing stands before the first entry: what was put there is in no chain, so nothing would tell that it is false.
    sequence: { $gte: 1, ...(page.before === null ? {} : { $lt: page.before }) },
  };
  const found = auditEntries.in(store).find(filter as never);
  const rows = await found.sort({ sequence: -1 }).limit(page.limit).lean<AuditRecord[]>();
  return rows.map(entryOf);
}

/** The entries from a number on, in the order of the chain. */
export async function auditFrom(store: Store, orgId: string, sequence: number, limit: number): Promise<AuditEntry[]> {
  const found = auditEntries.in(store).find({ orgId, sequence: { $gte: sequence } });
  const rows = await found.sort({ sequence: 1 }).limit(limit).lean<AuditRecord[]>();
  return rows.map(entryOf);
}

/** Checks the chain from `start` on; it has not `ended` when it is longer than one walk. */
export async function walkAudit(store: Store, orgId: string, start: ChainHead) {
  // Read before the walk: what this process had written by now must be met on the way.
  const written = rememberedHead(store, orgId);
  let head = start;
  for (let batch = 0; batch < BATCHES_MAX; batch += 1) {
    const entries = await auditFrom(store, orgId, head.sequence + 1, BATCH);
    const followed = followChain(head, entries);
    head = followed.head;
    if (followed.fault) return { head, fault: followed.fault, ended: true };
    if (entries.length < BATCH) {
      const isCutOff = written !== null && written.sequence > head.sequence;
      const fault = isCutOff ? { sequence: head.sequence + 1, reason: 'missing' as const } : null;
      return { head, fault, ended: true };
    }
  }
  return { head, fault: null, ended: false };
}

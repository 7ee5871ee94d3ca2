/** API keys of both kinds. The key itself is never stored: its hash finds the record, its last four characters show it. */
import type { QueryFilter } from 'mongoose';
import type { KeyStatus } from '../contracts/key';
import { Enum, Nullable, Type, type Static } from '../contracts/schema';
import { TIERS } from '../contracts/principal';
import { KEY_KINDS, type KeyKind } from '../domain/api-key';
import { collection, Instant, type Store } from './collection';
import { fenced, raiseEpoch } from './guards';
import { insertSeated, seatIndex } from './seats';

const KeyRecord = Type.Object({
  _id: Type.String(),
  orgId: Type.String(),
  kind: Enum(KEY_KINDS),
  hash: Type.String(),
  last4: Type.String(),
  name: Type.String(),
  scopes: Type.Array(Type.String()),
  /** Limits of its own; `null` follows the tenant's tier. */
  tier: Nullable(Enum(TIERS)),
  expiresAt: Nullable(Instant()),
  createdAt: Instant(),
  createdBy: Type.String(),
  revokedAt: Nullable(Instant()),
  revokedBy: Nullable(Type.String()),
  rotatedFrom: Nullable(Type.String()),
  /** Set by a rotation that ended the key earlier: what it expires at since, and what it expired at before. */
  shortened: Type.Optional(Type.Object({ to: Instant(), from: Nullable(Instant()) })),
  version: Type.Integer(),
  /** The version of the APIs the key is pinned to; absent in keys that are older than the pin. */
  apiVersion: Type.Optional(Type.String()),
  /** See `seats.ts`; absent in records that were made before there were seats, or beside them. */
  seat: Type.Optional(Type.Integer()),
});
export type KeyRecord = Static<typeof KeyRecord>;

const keys = collection('api_keys', KeyRecord, [
  { name: 'hash', keys: { hash: 1 }, unique: true },
  // Ids are ULIDs: the newest key has the greatest id.
  { name: 'list', keys: { orgId: 1, _id: -1 } },
  seatIndex('orgId'),
]);

/** What an edit may change. */
export type KeyChange = Partial<Pick<KeyRecord, 'name' | 'scopes' | 'expiresAt' | 'apiVersion' | 'shortened'>>;

/** The key with this hash, revoked or not. */
export async function findKeyByHash(store: Store, hash: string): Promise<KeyRecord | null> {
  return keys.in(store).findOne({ hash }).lean<KeyRecord>();
}

/** Those of the hashes that belong to keys, revoked or not; read from the index alone. */
export async function findIssuedHashes(store: Store, hashes: readonly string[]): Promise<Set<string>> {
  const found = await keys
    .in(store)
    .find({ hash: { $in: [...hashes] } }, { _id: 0, hash: 1 })
    .lean<Pick<KeyRecord, 'hash'>[]>();
  return new Set(found.map(({ hash }) => hash));
}

/** The org's key, revoked or not. */
export async function findKey(store: Store, orgId: string, keyId: string): Promise<KeyRecord | null> {
  return keys.in(store).findOne({ _id: keyId, orgId }).lean<KeyRecord>();
}

/** Records a new key. No epoch: nothing can be cached about a key that did not exist. */
export async function insertKey(store: Store, key: KeyRecord): Promise<void> {
  await keys.in(store).insertOne(key);
}

/** Records a new key as `insertKey` does; false when the org has `max` keys that are not revoked. */
export const insertKeyWithin = (store: Store, key: KeyRecord, max: number): Promise<boolean> =>
  insertSeated(store, { name: keys.name, live: { orgId: key.orgId, revokedAt: null }, max }, key);

/** Gives a key that nobody has seen yet another secret: its request died before the answer could show the first one. */
export async function replaceSecret(
  store: Store,
  held: Pick<KeyRecord, '_id' | 'orgId'>,
  secret: Pick<KeyRecord, 'hash' | 'last4'>,
): Promise<KeyRecord | null> {
  const replaced = await keys
    .in(store)
    .findOneAndUpdate({ _id: held._id, orgId: held.orgId, version: 1, revokedAt: null }, secret, {
      returnDocument: 'after',
    })
    .lean<KeyRecord>();
  if (replaced) await raiseEpoch(store, held.orgId);
  return replaced;
}

/** Edits a key that is not revoked, if it still has the version; in force on every process when this returns. */
export async function changeKey(
  store: Store,
  held: Pick<KeyRecord, '_id' | 'orgId' | 'version'>,
  change: KeyChange,
): Promise<KeyRecord | null> {
  return fenced(store, held.orgId, () =>
    keys
      .in(store)
      .findOneAndUpdate(
        { _id: held._id, orgId: held.orgId, version: held.version, revokedAt: null },
        { $set: change, $inc: { version: 1 } },
        { returnDocument: 'after' },
      )
      .lean<KeyRecord>()
      .exec(),
  );
}

/** Revokes a key for good. The epoch rises on a repetition too: the first attempt may have died before it did. */
export async function revokeKey(
  store: Store,
  held: Pick<KeyRecord, '_id' | 'orgId'>,
  by: { id: string; at: Date },
): Promise<void> {
  await fenced(store, held.orgId, () =>
    keys
      .in(store)
      .updateOne(
        { _id: held._id, orgId: held.orgId, revokedAt: null },
        { $set: { revokedAt: by.at, revokedBy: by.id }, $unset: { seat: '' }, $inc: { version: 1 } },
      )
      .exec(),
  );
}

/** Which keys a list shows; `beforeId` continues it. */
export interface KeyList {
  orgId: string;
  kind?: KeyKind | undefined;
  scope?: string | undefined;
  status?: KeyStatus | undefined;
  beforeId?: string | undefined;
  now: Date;
  limit: number;
}

const STATUS_FILTERS: Record<KeyStatus, (now: Date) => QueryFilter<KeyRecord>> = {
  active: (now) => ({ revokedAt: null, $or: [{ expiresAt: null }, { expiresAt: { $gt: now } }] }),
  expired: (now) => ({ revokedAt: null, expiresAt: { $ne: null, $lte: now } }),
  revoked: () => ({ revokedAt: { $ne: null } }),
};

/** Keys of the org, newest first. */
export async function listKeys(store: Store, list: KeyList): Promise<KeyRecord[]> {
  const filter: QueryFilter<KeyRecord> = {
    orgId: list.orgId,
    ...(list.kind ? { kind: list.kind } : {}),
    ...(list.scope ? { scopes: list.scope } : {}),
    ...(list.beforeId ? { _id: { $lt: list.beforeId } } : {}),
    ...(list.status ? STATUS_FILTERS[list.status](list.now) : {}),
  };
  return keys.in(store).find(filter).sort({ _id: -1 }).limit(list.limit).lean<KeyRecord[]>();
}

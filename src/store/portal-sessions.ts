/** Portal sessions: the server-side half of a portal token, so that ending one is final on every process. */
import { Enum, Nullable, Type, type Static } from '../contracts/schema';
import type { Position } from '../domain/sealed-token';
import { collection, Instant, type Store } from './collection';
import { fenced } from './guards';

const PortalSessionRecord = Type.Object({
  _id: Type.String(),
  orgId: Type.String(),
  clientUserId: Type.String(),
  /** The client it was opened for: a person who moves to another company signs in anew. */
  companyId: Type.String(),
  via: Enum(['staff', 'mail']),
  createdAt: Instant(),
  createdBy: Type.String(),
  /** The absolute end; tokens are renewed until then. The store removes the record afterwards. */
  expiresAt: Instant(),
  revokedAt: Nullable(Instant()),
  revokedBy: Nullable(Type.String()),
});
export type PortalSessionRecord = Static<typeof PortalSessionRecord>;

const sessions = collection('portal_sessions', PortalSessionRecord, [
  { name: 'expiry', keys: { expiresAt: 1 }, expireAfterSeconds: 0 },
  { name: 'user', keys: { orgId: 1, clientUserId: 1, _id: -1 } },
]);

/** A client user of one org. */
export interface Whose {
  orgId: string;
  clientUserId: string;
}

/** Records a new session. */
export async function insertPortalSession(store: Store, session: PortalSessionRecord): Promise<void> {
  await sessions.in(store).insertOne(session);
}

/** The session, or null. */
export async function findPortalSession(store: Store, orgId: string, id: string): Promise<PortalSessionRecord | null> {
  return sessions.in(store).findOne({ _id: id, orgId }).lean<PortalSessionRecord>();
}

/** Sessions of a client user that have not reached their end, newest first. */
export async function listPortalSessions(
  store: Store,
  { orgId, clientUserId }: Whose,
  page: { after: Position | null; limit: number; now: Date },
): Promise<PortalSessionRecord[]> {
  const behind = page.after ? { _id: { $lt: page.after.id } } : {};
  return sessions
    .in(store)
    .find({ orgId, clientUserId, expiresAt: { $gt: page.now }, ...behind })
    .sort({ _id: -1 })
    .limit(page.limit)
    .lean<PortalSessionRecord[]>();
}

/** Ends one session on every process before this returns. The epoch rises on a repetition too. */
export async function revokePortalSession(
  store: Store,
  { orgId, _id }: Pick<PortalSessionRecord, 'orgId' | '_id'>,
  by: { id: string; at: Date },
): Promise<void> {
  const ended = { $set: { revokedAt: by.at, revokedBy: by.id } };
  await fenced(store, orgId, () => sessions.in(store).updateOne({ _id, orgId, revokedAt: null }, ended).exec());
}

/** Ends every session of a client user on every process before this returns. */
export async function endPortalSessions(
  store: Store,
  { orgId, clientUserId }: Whose,
  by: { id: string; at: Date },
): Promise<void> {
  const ended = { $set: { revokedAt: by.at, revokedBy: by.id } };
  await fenced(store, orgId, () =>
    sessions.in(store).updateMany({ orgId, clientUserId, revokedAt: null }, ended).exec(),
  );
}

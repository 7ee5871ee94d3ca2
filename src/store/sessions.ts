/** Console sessions: the server-side half of a session token, so that signing out is final on every process. */
import { Nullable, Type, type Static } from '../contracts/schema';
import { collection, Instant, type Store } from './collection';
import { fenced } from './guards';

const SessionRecord = Type.Object({
  _id: Type.String(),
  orgId: Type.String(),
  userId: Type.String(),
  createdAt: Instant(),
  /** The absolute end; tokens are renewed until then. The store removes the record afterwards. */
  expiresAt: Instant(),
  revokedAt: Nullable(Instant()),
});
export type SessionRecord = Static<typeof SessionRecord>;

const sessions = collection('sessions', SessionRecord, [
  { name: 'expiry', keys: { expiresAt: 1 }, expireAfterSeconds: 0 },
  { name: 'user', keys: { orgId: 1, userId: 1 } },
]);

/** Records a new session. */
export async function insertSession(store: Store, session: SessionRecord): Promise<void> {
  await sessions.in(store).insertOne(session);
}

/** The session, or null. */
export async function findSession(store: Store, orgId: string, sessionId: string): Promise<SessionRecord | null> {
  return sessions.in(store).findOne({ _id: sessionId, orgId }).lean<SessionRecord>();
}

/** Ends a session on every process before this returns; repeating it changes nothing. */
export async function revokeSession(store: Store, orgId: string, sessionId: string, at: Date): Promise<void> {
  await fenced(store, orgId, () =>
    sessions
      .in(store)
      .updateOne({ _id: sessionId, orgId, revokedAt: null }, { $set: { revokedAt: at } })
      .exec(),
  );
}

/**
 * Requests by their idempotency key: reserved before the handler runs, with what its records will be called, and
 * completed with the answer. A run that died is taken over when its lease is over and meets the records it made.
 */
import { Nullable, Type, type Static } from '../contracts/schema';
import { collection, Instant, isDuplicate, type Store } from './collection';

const IdempotencyRecord = Type.Object({
  _id: Type.String(),
  fingerprint: Type.String(),
  /** What the ids of the request's records are made from. */
  seed: Type.String(),
  created_at: Instant(),
  expires_at: Instant(),
  lease_until: Instant(),
  status: Nullable(Type.Integer()),
  headers: Type.Unsafe<Record<string, string>>(Type.Object({})),
  /** The body as JSON text, so that it comes back exactly as it was. */
  body: Nullable(Type.String()),
});
export type IdempotencyRecord = Static<typeof IdempotencyRecord>;

const requests = collection('idempotency', IdempotencyRecord, [
  { name: 'expiry', keys: { expires_at: 1 }, expireAfterSeconds: 0 },
]);

/** Takes the key for a new request. Null when it is taken; then `findRequest` says by what. */
export async function reserveRequest(
  store: Store,
  fresh: Pick<IdempotencyRecord, '_id' | 'fingerprint' | 'seed' | 'created_at' | 'expires_at' | 'lease_until'>,
): Promise<IdempotencyRecord | null> {
  const record: IdempotencyRecord = { ...fresh, status: null, headers: {}, body: null };
  try {
    await requests.in(store).collection.insertOne(record as never);
    return record;
  } catch (error) {
    if (isDuplicate(error)) return null;
    throw error;
  }
}

export const findRequest = (store: Store, id: string): Promise<IdempotencyRecord | null> =>
  requests.in(store).findById(id).lean<IdempotencyRecord>().exec();

/** Takes over a request whose lease is over; null when another repeat was faster. */
export const takeOverRequest = (
  store: Store,
  { _id, lease_until: lease }: IdempotencyRecord,
  until: Date,
): Promise<IdempotencyRecord | null> =>
  requests
    .in(store)
    .findOneAndUpdate(
      { _id, lease_until: lease, status: null },
      { $set: { lease_until: until } },
      { returnDocument: 'after' },
    )
    .lean<IdempotencyRecord>()
    .exec();

/** Keeps the answer. Only the run that holds the lease may: one that was taken over has nothing to say any more. */
export const completeRequest = async (
  store: Store,
  { _id, lease_until: lease }: IdempotencyRecord,
  answer: Pick<IdempotencyRecord, 'status' | 'headers' | 'body'>,
): Promise<void> => {
  await requests.in(store).updateOne({ _id, lease_until: lease, status: null }, { $set: answer });
};

/** Ends the lease of a run that failed: its repeat is that of a run that died, and makes records of the same names. */
export const releaseRequest = async (
  store: Store,
  { _id, lease_until: lease }: Pick<IdempotencyRecord, '_id' | 'lease_until'>,
): Promise<void> => {
  await requests.in(store).updateOne({ _id, lease_until: lease, status: null }, { $set: { lease_until: new Date(0) } });
};

/** Forgets a request that was refused for now, or whose key is older than keys are kept. */
export const forgetRequest = async (
  store: Store,
  { _id, lease_until: lease }: Pick<IdempotencyRecord, '_id' | 'lease_until'>,
): Promise<void> => {
  await requests.in(store).deleteOne({ _id, lease_until: lease });
};

/** Forgets the reservation of a run that has not begun, if the store took it; nobody else has its seed. */
export const forgetUnbegun = async (
  store: Store,
  { _id, seed, lease_until: lease }: Pick<IdempotencyRecord, '_id' | 'seed' | 'lease_until'>,
): Promise<void> => {
  await requests.in(store).deleteOne({ _id, seed, lease_until: lease, status: null });
};

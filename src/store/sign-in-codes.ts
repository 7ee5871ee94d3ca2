/** One-time codes of the portal's sign-in mails. A request for an address that nobody has leaves a record just the same. */
import { Nullable, Type, type Static } from '../contracts/schema';
import { collection, Instant, type Store } from './collection';

const SignInCode = Type.Object({
  /** HMAC of the code: the code itself is only in the mail. */
  _id: Type.String(),
  orgId: Type.String(),
  /** HMAC of tenant and address. Null in all but the first code of a request: what is limited is asking. */
  address: Nullable(Type.String()),
  /** Where the request came from. Null in all but the first code of a request. */
  network: Nullable(Type.String()),
  /** Null when the address belongs to nobody who may sign in. */
  clientUserId: Nullable(Type.String()),
  /** HMAC of the company and the address it was mailed for. Null like `clientUserId`. */
  mailedFor: Nullable(Type.String()),
  createdAt: Instant(),
  expiresAt: Instant(),
  usedAt: Nullable(Instant()),
  /** The use that has it; absent in codes that are unused, or were used before this was kept. */
  usedBy: Type.Optional(Nullable(Type.String())),
});
export type SignInCode = Static<typeof SignInCode>;

const codes = collection('portal_sign_in_codes', SignInCode, [
  { name: 'expiry', keys: { expiresAt: 1 }, expireAfterSeconds: 0 },
  { name: 'address', keys: { address: 1, createdAt: 1 } },
  { name: 'network', keys: { network: 1, createdAt: 1 } },
]);

/** Keeps the codes of one request. */
export async function insertSignInCodes(store: Store, asked: readonly SignInCode[]): Promise<void> {
  await codes.in(store).collection.insertMany(asked as never);
}

/** Forgets codes that nobody was sent. */
export async function forgetSignInCodes(store: Store, asked: readonly SignInCode[]): Promise<void> {
  await codes.in(store).deleteMany({ _id: { $in: asked.map(({ _id }) => _id) } });
}

/** How many codes were asked for since `since`, for the address and from the network, each counted up to `max`. */
export async function countSignInCodes(
  store: Store,
  { address, network }: Pick<SignInCode, 'address' | 'network'>,
  { since, max }: { since: Date; max: number },
): Promise<{ address: number; network: number }> {
  const createdAt = { $gt: since };
  const count = (filter: object) => codes.in(store).countDocuments({ ...filter, createdAt }, { limit: max });
  const [byAddress, byNetwork] = await Promise.all([count({ address }), count({ network })]);
  return { address: byAddress, network: byNetwork };
}

/** Uses a code up. Null when it is wrong, used or too old: of many who send it at once, one gets it. */
export async function redeemSignInCode(
  store: Store,
  id: string,
  { usedBy, now }: { usedBy: string; now: Date },
): Promise<SignInCode | null> {
  return codes
    .in(store)
    .findOneAndUpdate({ _id: id, usedAt: null, expiresAt: { $gt: now } }, { $set: { usedAt: now, usedBy } })
    .lean<SignInCode>();
}

/** Gives a code back that this use may have taken, and that opened nothing. */
export async function returnSignInCode(store: Store, id: string, usedBy: string): Promise<void> {
  await codes.in(store).updateOne({ _id: id, usedBy }, { $set: { usedAt: null, usedBy: null } });
}

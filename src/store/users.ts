/** Users of the console. An e-mail address belongs to one user of one org. */
import { Enum, Nullable, Type, type Static } from '../contracts/schema';
import { ROLES } from '../domain/permissions';
import { collection, Instant, type Store } from './collection';
import { fenced } from './guards';

const UserRecord = Type.Object({
  _id: Type.String(),
  orgId: Type.String(),
  /** In lower case, so that the unique index ignores case. */
  email: Type.String(),
  displayName: Type.String(),
  role: Enum(ROLES),
  /** Development sign-in only; production signs in through the identity provider. */
  passwordHash: Nullable(Type.String()),
  disabledAt: Nullable(Instant()),
  createdAt: Instant(),
});
export type UserRecord = Static<typeof UserRecord>;

const users = collection('users', UserRecord, [
  { name: 'email', keys: { email: 1 }, unique: true },
  { name: 'org', keys: { orgId: 1, _id: 1 } },
]);

/** What may change about a user. */
export type UserChange = Partial<Pick<UserRecord, 'displayName' | 'role' | 'passwordHash' | 'disabledAt'>>;

/** One spelling per address. */
export const normalEmail = (email: string): string => email.trim().toLowerCase();

/** The user with this address, whatever its case. */
export async function findUserByEmail(store: Store, email: string): Promise<UserRecord | null> {
  return users
    .in(store)
    .findOne({ email: normalEmail(email) })
    .lean<UserRecord>();
}

/** The user of this org, or null. */
export async function findUser(store: Store, orgId: string, userId: string): Promise<UserRecord | null> {
  return users.in(store).findOne({ _id: userId, orgId }).lean<UserRecord>();
}

/** Adds a user; a taken address is a duplicate-key error. */
export async function insertUser(store: Store, user: UserRecord): Promise<void> {
  await users.in(store).insertOne({ ...user, email: normalEmail(user.email) });
}

/** Changes a user; a lost role or a disabled account is in force on every process when this returns. */
export async function changeUser(
  store: Store,
  user: Pick<UserRecord, '_id' | 'orgId'>,
  change: UserChange,
): Promise<boolean> {
  const { matchedCount } = await fenced(store, user.orgId, () =>
    users.in(store).updateOne({ _id: user._id, orgId: user.orgId }, { $set: change }).exec(),
  );
  return matchedCount > 0;
}

/** The org's owners, and one more user where one is named, as far as their accounts are open. */
export const userAddresses = (
  store: Store,
  orgId: string,
  { userId, limit }: { userId?: string; limit: number },
): Promise<UserRecord[]> =>
  users
    .in(store)
    .find({ orgId, disabledAt: null, $or: [{ role: 'owner' }, ...(userId === undefined ? [] : [{ _id: userId }])] })
    .sort({ _id: 1 })
    .limit(limit)
    .lean<UserRecord[]>()
    .exec();

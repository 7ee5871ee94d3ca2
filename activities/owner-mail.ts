/** Mails to the people of an org about something of theirs that went wrong. */
import { cancellationSignal, heartbeat } from '@temporalio/activity';
import { ProviderError, type ProviderErrorKind } from '../src/providers/error';
import { userAddresses, type UserRecord } from '../src/store/users';
import type { Deps } from './deps';

const OWNERS_MAX = 10;

interface OwnerMail {
  orgId: string;
  /** Told as well, owner or not. */
  userId?: string;
  /** Names what is told; a repeat has the same message ids. */
  cause: string;
  subject: string;
  text: string;
  headers: Record<string, string>;
}

/** Who was told of a cause, as its record keeps it: a repeat is for the others alone. */
interface Told {
  ids: readonly string[];
  note: (userId: string) => Promise<void>;
}

/** What one address is refused for; after anything else there is no point in asking for another. */
const OF_ADDRESS: ReadonlySet<ProviderErrorKind> = new Set(['rejected', 'invalid_input', 'server_error']);
/** Of these, what another attempt does not change. */
const FOR_GOOD: ReadonlySet<ProviderErrorKind> = new Set(['rejected', 'invalid_input']);

/** True when no mail can leave at all, to whomever. */
const isMailAway = (error: unknown): boolean => error instanceof ProviderError && !OF_ADDRESS.has(error.kind);

/** Mails one; answers why that owner could not be told, if another could. */
async function mailOne(deps: Deps, user: UserRecord, mail: Omit<OwnerMail, 'orgId' | 'userId'>) {
  const { cause, ...message } = mail;
  try {
    await deps.providers.mail.send({
      ...message,
      to: user.email,
      messageId: `${cause}.${user._id}@signalbox`,
      signal: cancellationSignal(),
    });
    return null;
  } catch (error) {
    if (error instanceof ProviderError && OF_ADDRESS.has(error.kind)) return error;
    throw error;
  }
}

/**
 * Sends it to every owner who was not told before. Fails when one may still be told later, or when nobody was told at
 * all: an address that is gone is given up as soon as somebody else knows.
 */
export async function mailOwners(deps: Deps, { orgId, userId, ...mail }: OwnerMail, told: Told): Promise<void> {
  const one = userId === undefined ? {} : { userId };
  const users = await userAddresses(deps.store, orgId, { ...one, limit: OWNERS_MAX });
  const refusals: ProviderError[] = [];
  let isKnown = users.some(({ _id }) => told.ids.includes(_id));
  for (const user of users.filter(({ _id }) => !told.ids.includes(_id))) {
    heartbeat();
    const refused = await mailOne(deps, user, mail);
    if (refused) {
      refusals.push(refused);
      continue;
    }
    isKnown = true;
    await told.note(user._id);
  }
  const [open] = isKnown ? refusals.filter(({ kind }) => !FOR_GOOD.has(kind)) : refusals;
  if (open) throw open;
  if (refusals.length > 0) deps.log.warn('owners not told', { org: orgId, count: refusals.length, error: refusals[0] });
}

/** Tells of one thing after another, and of what failed to `deferred`. */
export async function tellInTurn<Item>(
  items: readonly Item[],
  tell: (item: Item) => Promise<void>,
  deferred: (item: Item, error: unknown) => void,
): Promise<void> {
  for (const item of items) {
    heartbeat();
    try {
      await tell(item);
    } catch (error) {
      deferred(item, error);
      // Each of the others would wait for the mail relay as long, and the sweep with them.
      if (isMailAway(error)) return;
    }
  }
}

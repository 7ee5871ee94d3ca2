/** Mails to the people of an org about something of theirs that went wrong. */
import { cancellationSignal } from '@temporalio/activity';
import { userAddresses } from '../src/store/users';
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

/** Sends it to every owner; fails at the first mail that cannot leave. */
export async function mailOwners(deps: Deps, { orgId, userId, cause, ...mail }: OwnerMail): Promise<void> {
  const one = userId === undefined ? {} : { userId };
  for (const user of await userAddresses(deps.store, orgId, { ...one, limit: OWNERS_MAX })) {
    await deps.providers.mail.send({
      ...mail,
      to: user.email,
      messageId: `${cause}.${user._id}@signalbox`,
      signal: cancellationSignal(),
    });
  }
}

/** The secrets of an endpoint: what each is sealed for, and which of them sign. */

/** What a secret is sealed for: no other endpoint can open it. */
export const boundTo = ({ _id, orgId }: { _id: string; orgId: string }): string => `webhook:${orgId}:${_id}`;

/** The secrets that sign at this moment, newest first. */
export const secretsInForce = <Secret extends { endsAt: Date | null }>(
  secrets: readonly Secret[],
  now: Date,
): Secret[] => secrets.filter(({ endsAt }) => endsAt === null || endsAt > now);

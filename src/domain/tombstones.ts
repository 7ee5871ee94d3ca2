/** How long a deleted record can be restored and is told of by lists. */

const KEPT_MS = 30 * 24 * 60 * 60 * 1_000;

/** Records that were deleted at this moment or before are gone for good. */
export const goneUpTo = (now: Date): Date => new Date(now.getTime() - KEPT_MS);

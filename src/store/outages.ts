/** What an operation throws while the store is away or overloaded. */
import { mongo } from 'mongoose';

/** What broke off a bulk write: the driver throws it in an error of the bulk's own. */
const brokenBy = (error: unknown): unknown =>
  error instanceof mongo.MongoBulkWriteError ? (error.errorResponse ?? error) : error;

/** An operation that ran into its time limit (MaxTimeMSExpired): the store is there, but not now. */
export const isStoreBusy = (error: unknown): boolean => error instanceof mongo.MongoServerError && error.code === 50;

/** BadValue, FailedToParse, Overflow, names with dots or dollars, and documents beyond the limit. */
const REFUSALS: ReadonlySet<unknown> = new Set([2, 9, 15, 52, 57, 10_334, 17_419, 17_420]);

/** A write that is refused for what it holds, by the store or by the driver on the way to it: it always will be. */
export function isStoreRefusal(error: unknown): boolean {
  if (error instanceof RangeError || error instanceof mongo.BSON.BSONError) return true;
  return (
    error instanceof mongo.MongoServerError &&
    (REFUSALS.has(error.code) ||
      /nesting depth|nested too deep|document is larger|size .* exceeds/i.test(error.message))
  );
}

/**
 * The driver never had a connection to send the operation on, so the store has surely not done it. A first attempt
 * that got lost may have been done, but the driver tries no write twice where the store keeps no sessions for that.
 */
export function isStoreUnreached(thrown: unknown): boolean {
  const error = brokenBy(thrown);
  const { name, message } = error as { name?: string; message?: string };
  return (
    error instanceof mongo.MongoServerSelectionError ||
    name === 'MongooseServerSelectionError' ||
    /buffering timed out/i.test(message ?? '')
  );
}

/** Of a connection that ends while a command is written to it; the driver passes these on as the socket has them. */
const BROKEN_SOCKETS: ReadonlySet<unknown> = new Set([
  'EPIPE',
  'ECONNRESET',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
]);

/** A connection to the store that broke under a command. Our other connections say so by errors of their own kind. */
export const isBrokenSocket = (error: unknown): boolean => BROKEN_SOCKETS.has((error as { code?: unknown }).code);

/** FerretDB answers with an internal error while the PostgreSQL below it is away, so that text counts too. */
export function isStoreDown(thrown: unknown): boolean {
  const error = brokenBy(thrown);
  if (error instanceof mongo.MongoNetworkError || isStoreUnreached(error)) return true;
  const { name, message } = error as { name?: string; message?: string };
  if (name === 'MongoPoolClearedError' || name === 'MongoNotConnectedError' || isBrokenSocket(error)) return true;
  return /conn(ect(ion)?)? (refused|reset|closed)|failed to connect to|unexpected EOF|broken pipe|terminating connection|the database system is|client is closed|topology (is )?closed/i.test(
    message ?? '',
  );
}

/** What an operation throws while the store is away or overloaded. */
import { mongo } from 'mongoose';

/** An operation that ran into its time limit (MaxTimeMSExpired): the store is there, but not now. */
export const isStoreBusy = (error: unknown): boolean => error instanceof mongo.MongoServerError && error.code === 50;

/** FerretDB answers with an internal error while the PostgreSQL below it is away, so that text counts too. */
export function isStoreDown(error: unknown): boolean {
  if (error instanceof mongo.MongoNetworkError || error instanceof mongo.MongoServerSelectionError) return true;
  const { name, message } = error as { name?: string; message?: string };
  if (name === 'MongooseServerSelectionError' || name === 'MongoPoolClearedError' || name === 'MongoNotConnectedError')
    return true;
  return /conn(ect(ion)?)? (refused|reset|closed)|failed to connect to|unexpected EOF|broken pipe|buffering timed out|terminating connection|the database system is|client is closed|topology (is )?closed/i.test(
    message ?? '',
  );
}

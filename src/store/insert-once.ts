/** Group commit of inserts: documents that wait while others of their collection are under way go by one command. */
import { mongo, type Model } from 'mongoose';
import { madePer } from '../domain/memoised';
import { isDuplicate } from './collection';
import { groupCommit } from './group-commit';
import { isStoreRefusal } from './outages';

interface Insert {
  document: { _id: string };
  /** The store gives it up after this long. */
  maxTimeMS?: number | undefined;
}

const INSERTS_MAX = 25;

async function insertAlone({ collection }: Model<unknown>, { document, maxTimeMS }: Insert): Promise<boolean> {
  try {
    await collection.insertOne(document as never, maxTimeMS === undefined ? {} : { maxTimeMS });
    return true;
  } catch (error) {
    if (isDuplicate(error)) return false;
    throw error;
  }
}

const byId = ({ document: one }: Insert, { document: other }: Insert): number => (one._id < other._id ? -1 : 1);

/** Which were refused, of those that an error is about; null when it tells nothing of them. */
function refusedBy(error: unknown, inserts: readonly Insert[]): readonly (Insert | undefined)[] | null {
  const errors = error instanceof mongo.MongoBulkWriteError ? [error.writeErrors].flat() : [];
  if (errors.length > 0) return errors.map(({ index }) => inserts[index]);
  // Nothing was sent, or nothing taken, for what one of them holds.
  return isStoreRefusal(error) || error instanceof mongo.MongoInvalidArgumentError ? inserts : null;
}

/** In the order of their ids, so that two processes that insert the same ones do not wait for each other. */
async function insertAll(model: Model<unknown>, inserts: readonly Insert[]): Promise<(boolean | Promise<boolean>)[]> {
  const inOrder = inserts.toSorted(byId);
  const documents = inOrder.map(({ document }) => document);
  const times = inserts.flatMap(({ maxTimeMS }) => maxTimeMS ?? []);
  const options = { ordered: false, ...(times.length > 0 ? { maxTimeMS: Math.max(...times) } : {}) };
  try {
    await model.collection.insertMany(documents as never, options);
    return inserts.map(() => true);
  } catch (error) {
    const refused = refusedBy(error, inOrder);
    if (refused === null) throw error;
    // Each is refused again, by an error of its own.
    return inserts.map((insert) => !refused.includes(insert) || insertAlone(model, insert));
  }
}

const inserting = madePer((model: Model<unknown>) =>
  groupCommit({
    max: INSERTS_MAX,
    alone: (insert: Insert) => insertAlone(model, insert),
    all: (inserts) => insertAll(model, inserts),
  }),
);

/** Inserts a document; answers false when its id was taken. */
export const insertOnce = <Record_>(
  model: Model<Record_>,
  document: Insert['document'],
  options: Pick<Insert, 'maxTimeMS'> = {},
): Promise<boolean> => inserting(model as unknown as Model<unknown>)({ document, ...options });

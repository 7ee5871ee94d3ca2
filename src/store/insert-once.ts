/** Group commit of inserts: documents that wait while others of their collection are under way go by one command. */
import { mongo, type Model } from 'mongoose';
import { madePer } from '../domain/memoised';
import { together } from '../domain/together';
import { isDuplicate } from './collection';

interface Insert {
  document: { _id: string };
  /** The store gives it up after this long. */
  maxTimeMS?: number | undefined;
}

const ROUND = { max: 25, patienceMs: 250 };

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

/** In the order of their ids, so that two processes that insert the same ones do not wait for each other. */
async function insertAll(model: Model<unknown>, inserts: readonly Insert[]): Promise<(boolean | Promise<boolean>)[]> {
  const inOrder = inserts.toSorted(byId);
  const times = inserts.flatMap(({ maxTimeMS }) => maxTimeMS ?? []);
  const options = { ordered: false, ...(times.length > 0 ? { maxTimeMS: Math.max(...times) } : {}) };
  const refused = new Set<Insert>();
  try {
    await model.collection.insertMany(inOrder.map(({ document }) => document) as never, options);
  } catch (error) {
    if (!(error instanceof mongo.MongoBulkWriteError)) throw error;
    // Empty when it was not the documents that were refused.
    const places = [error.writeErrors].flat().map(({ index }) => index);
    if (places.length === 0) throw error;
    for (const place of places) refused.add(inOrder[place] as Insert);
  }
  // What was refused is so again, by an error of its own.
  return inserts.map((insert) => !refused.has(insert) || insertAlone(model, insert));
}

async function insertRound(model: Model<unknown>, inserts: readonly Insert[]): Promise<(boolean | Promise<boolean>)[]> {
  const [insert, ...others] = inserts;
  return insert && others.length === 0 ? [await insertAlone(model, insert)] : insertAll(model, inserts);
}

const inserting = madePer((model: Model<unknown>) =>
  together(ROUND, (_lane: string, inserts: Insert[]) => insertRound(model, inserts)),
);

/** Inserts a document; answers false when its id was taken. */
export const insertOnce = <Record_>(
  model: Model<Record_>,
  document: Insert['document'],
  options: Pick<Insert, 'maxTimeMS'> = {},
): Promise<boolean> => inserting(model as unknown as Model<unknown>)('', { document, ...options });

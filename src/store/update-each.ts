/** Updates of many documents by one command. */
import type { Model, mongo } from 'mongoose';

interface OneUpdate {
  updateOne: { filter: { _id: string } & Record<string, unknown>; update: Record<string, unknown>; upsert?: boolean };
}

const byId = (one: OneUpdate, other: OneUpdate): number =>
  one.updateOne.filter._id < other.updateOne.filter._id ? -1 : 1;

/**
 * Updates each document, in the order of their ids. DocumentDB makes one transaction of the command, which holds every
 * document it has come to: two processes that came to the same ones in different orders would wait for each other, and
 * whoever wants one of them would wait behind both. Answers how many of them there were.
 */
export async function updateEach<Record_>(model: Model<Record_>, updates: readonly OneUpdate[]): Promise<number> {
  const commands = updates.toSorted(byId) as unknown as mongo.AnyBulkWriteOperation[];
  // Without Mongoose, which would look at each of many fields whether it is declared.
  if (commands.length === 0) return 0;
  const { matchedCount } = await model.collection.bulkWrite(commands, { ordered: false });
  return matchedCount;
}

/** Group commit of what executions record: writes that wait while others are under way are made by one command. */
import { mongo } from 'mongoose';
import { newId } from '../domain/ids';
import { madePer } from '../domain/memoised';
import type { Store } from './collection';
import { commandOf, writeAlone, type Write } from './execution-writes';
import { executions, type ExecutionRecord } from './executions';
import { groupCommit } from './group-commit';
import { updateEach } from './update-each';

const WRITES_MAX = 50;

type Written = ExecutionRecord | null;

/** The record as the store has it once a write has found it as it was known. */
function writtenTo({ known, credits = 0 }: Write, set: Record<string, unknown>): ExecutionRecord {
  const record: ExecutionRecord = {
    ...known,
    steps: [...known.steps],
    seq: known.seq + 1,
    credits_used: known.credits_used + credits,
  };
  // Values as they come back from the store, which keeps no `undefined`.
  const bytes = mongo.BSON.serialize(set, { ignoreUndefined: false });
  const stored: Record<string, unknown> = mongo.BSON.deserialize(bytes);
  for (const [path, value] of Object.entries(stored)) {
    const [, slot, field] = /^steps\.(\d+)\.(.+)$/.exec(path) ?? [];
    if (slot === undefined || field === undefined) Object.assign(record, { [path]: value });
    else Object.assign(record.steps, { [slot]: { ...record.steps[Number(slot)], [field]: value } });
  }
  return record;
}

/**
 * Makes one write. An execution that is as it was known need not come back, which is most of what a reply takes; one
 * that is not is written and read in one command.
 */
async function writeOne(store: Store, write: Write): Promise<Written> {
  const { filter, update } = commandOf(write);
  const asKnown = { ...filter, seq: write.known.seq };
  const { matchedCount } = await executions.in(store).collection.updateOne(asKnown as never, update);
  return matchedCount > 0 ? writtenTo(write, update.$set) : writeAlone(store, write);
}

/** A write under a name of its own, which tells that it was made. */
interface Marked {
  write: Write;
  mark: string;
  set: Record<string, unknown>;
  command: Parameters<typeof updateEach>[1][number];
}

function markedOf(write: Write): Marked {
  const { filter, update } = commandOf(write);
  const mark = newId('wrt');
  const set = { ...update.$set, mark };
  const updateOne = { filter: { ...filter, seq: write.known.seq }, update: { ...update, $set: set } };
  return { write, mark, set, command: { updateOne } };
}

/** Which of the writes were made. */
async function madeOf(store: Store, all: readonly Marked[]): Promise<ReadonlySet<string | undefined>> {
  const found = await executions
    .in(store)
    .find({ _id: { $in: all.map(({ write }) => write.known._id) } }, { mark: 1 })
    .lean<Pick<ExecutionRecord, 'mark'>[]>()
    .exec();
  return new Set(found.map(({ mark }) => mark));
}

/**
 * Makes writes of several executions by one command. It tells how many it found, but not which: those it finds are as
 * they were known, and when some are not, their marks tell. These are written alone.
 */
async function writeAll(store: Store, writes: readonly Write[]): Promise<(Written | Promise<Written>)[]> {
  const all = writes.map(markedOf);
  const commands = all.map(({ command }) => command);
  // Whatever was wrong with one of them, or with the reply, each finds out for itself.
  const count = await updateEach(executions.in(store), commands).catch(() => 0);
  if (count === all.length) return all.map(({ write, set }) => writtenTo(write, set));
  const made = await madeOf(store, all);
  return all.map(({ write, mark, set }) => (made.has(mark) ? writtenTo(write, set) : writeAlone(store, write)));
}

const writing = madePer((store: Store) =>
  groupCommit({
    max: WRITES_MAX,
    alone: (write: Write) => writeOne(store, write),
    all: (writes) => writeAll(store, writes),
  }),
);

/** Makes a write, as `writeAlone` would. */
export const writeExecution = (store: Store, write: Write): Promise<Written> => writing(store)(write);

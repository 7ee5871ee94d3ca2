/**
 * Limits on how many records an org may have. Each record takes a seat: a number below the limit that no other record of
 * the org has. The index hands them out, so that of requests at once no more come through than there is room for, and a
 * record that goes gives its seat back in the write it goes with.
 */
import { randomFraction } from '../domain/ids';
import { isDuplicate, type Index, type Store } from './collection';

/** Each lost attempt means that another record took the seat, so many in a row are as good as impossible. */
const ATTEMPTS_MAX = 200;

/** The index that a collection with seats needs; `org` is the field that names the org. */
export const seatIndex = (org: string): Index => ({
  name: 'seat',
  keys: { [org]: 1, seat: 1 },
  unique: true,
  where: { seat: { $exists: true } },
});

interface Seats {
  /** The collection of the records. */
  name: string;
  /** Finds the records of the org that count. */
  live: Record<string, unknown>;
  max: number;
}

interface Seated {
  _id: string;
  seat?: number;
}

/** The lowest seats nobody has, as many as there is room for: records without one are older than seats, and count too. */
function freeSeats(rows: readonly Seated[], max: number): number[] {
  const taken = new Set(rows.flatMap(({ seat }) => seat ?? []));
  const free = Array.from({ length: max }, (_unused, seat) => seat).filter((seat) => !taken.has(seat));
  return free.slice(0, Math.max(0, max - rows.length));
}

/** Inserts a record under a seat of its own; false when the org has as many as it may. */
export async function insertSeated(
  store: Store,
  { name, live, max }: Seats,
  record: { _id: string },
): Promise<boolean> {
  const records = store.connection.collection<Seated>(name);
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const rows = await records.find(live as never, { projection: { seat: 1 } }).toArray();
    const free = freeSeats(rows, max);
    // Any of them: requests at once that all take the first would meet there.
    const seat = free[Math.floor(randomFraction() * free.length)];
    if (seat === undefined) return false;
    try {
      await records.insertOne({ ...record, seat });
      return true;
    } catch (error) {
      // The seat was taken, or the record is there already, whether it counts or not.
      if (!isDuplicate(error) || (await records.countDocuments({ _id: record._id }, { limit: 1 })) > 0) throw error;
    }
  }
  throw new Error(`No seat for ${record._id} in ${name} after ${ATTEMPTS_MAX} attempts`);
}

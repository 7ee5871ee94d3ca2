/** Per-tenant counters: the numbers people read on tickets. */
import { Type } from '../contracts/schema';
import { collection, isDuplicate, type Store } from './collection';

const counters = collection('resource_counters', Type.Object({ _id: Type.String(), next: Type.Integer() }), []);

/**
 * The next number of a tenant's counter. The document is made first and then only updated: an upsert that loses the
 * race to make it fails differently from store to store.
 */
export async function nextNumber(store: Store, tenantId: string, name: string, from: number): Promise<number> {
  const id = `${tenantId}:${name}`;
  const take = () =>
    counters
      .in(store)
      .findOneAndUpdate({ _id: id }, { $inc: { next: 1 } })
      .lean<{ next: number }>()
      .exec();
  const taken = await take();
  if (taken) return taken.next;
  await counters
    .in(store)
    .collection.insertOne({ _id: id, next: from } as never)
    .catch(ignoreDuplicate);
  const first = await take();
  if (!first) throw new Error(`Counter ${id} vanished`);
  return first.next;
}

/** Another request made the counter in the meantime: just as good. */
function ignoreDuplicate(error: unknown): void {
  if (!isDuplicate(error)) throw error;
}

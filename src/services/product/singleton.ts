/** Keeps a resource that a tenant has once to one live record. */
import { problem } from '../../contracts/problem';
import { findCurrent, type Place } from '../../store/resources';
import type { ProductCall } from './call';

/** Refuses a record beside the one there is, and names that one. */
export async function checkAlone({ context }: ProductCall, place: Place, id: string): Promise<void> {
  const { row } = place;
  if (!row.isSingleton) return;
  const held = await findCurrent(context.store, place);
  if (!held || held.id === id) return;
  const address = `/${row.products[0]}/api/${row.path}/current`;
  throw problem('conflict', {
    message: `There is one ${row.nouns[0]} already, ${held.id}; change it with PATCH ${address}.`,
    facts: { id: held.id, current: address },
  });
}

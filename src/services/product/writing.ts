/** What every write has in common: losing a race, meeting what must be unique, handing over events, answering. */
import type { BusEvent } from '../../contracts/event';
import { problem, type Problem } from '../../contracts/problem';
import { recordTag } from '../../domain/etag';
import { settleSoon } from '../../events/follow-ups';
import type { Actor } from '../../events/record-events';
import type { AnyRecord, Resource } from '../../resources/resource';
import { untilWon } from '../../store/lost-race';
import { findHolder, pendingOf, type Place, type WriteOutcome } from '../../store/resources';
import type { ProductCall, ProductReply } from './call';
import { checkAlone } from './singleton';

/** Names the record that has one of the external references. */
async function duplicateReference({ context }: ProductCall, place: Place, wanted: AnyRecord): Promise<Problem> {
  const holder = await findHolder(context.store, place, wanted);
  const noun = place.row.nouns[0];
  if (!holder)
    return problem('conflict', {
      message: `Another ${noun} has one of these external references.`,
      facts: { field: 'externalRefs' },
    });
  const { system, id } = holder.externalRef;
  return problem('conflict', {
    message: `externalRefs: ${system}:${id} belongs to the ${noun} ${holder.id}; change that one, or take the reference from it first.`,
    facts: { field: 'externalRefs', externalRef: holder.externalRef, id: holder.id },
  });
}

/**
 * What a write leaves to do: its events go in the background; figures of other records are true when the answer is
 * sent, unless the relay has to help.
 */
export async function handOver(call: ProductCall, place: Place, id: string, events: BusEvent[]): Promise<void> {
  if (events.length > 0)
    call.context.outbox.publishSoon(pendingOf(call.context.store, place.row, id, events), call.epoch);
  await settleSoon(call.context, place, id);
}

const ACTOR_TYPES = { key: 'api_key', session: 'user', portal: 'client_user', anonymous: 'user' } as const;

/** Who made a change, as its events say. */
export const actorOf = ({ principal: { kind, id } }: ProductCall): Actor => ({
  type: ACTOR_TYPES[kind],
  id,
});

/** A record as an answer, with its version as entity tag. */
export const shown = (status: number, record: AnyRecord): ProductReply => ({
  status,
  body: record,
  etag: recordTag(record.id, record.version),
});

/** Repeats a change on the record's newest version until nobody was faster. `attempt` answers null when somebody was. */
export async function untilWritten(row: Resource, attempt: () => Promise<ProductReply | null>): Promise<ProductReply> {
  const reply = await untilWon(attempt);
  if (reply) return reply;
  throw problem('conflict', { message: `This ${row.nouns[0]} is being changed by many requests at once; try again.` });
}

/** True when the write of `after` stands; a stale one is to be repeated. */
export async function stands(
  call: ProductCall,
  place: Place,
  { after, outcome }: { after: AnyRecord; outcome: WriteOutcome },
): Promise<boolean> {
  if (outcome === 'duplicate') {
    await checkAlone(call, place, after.id);
    throw await duplicateReference(call, place, after);
  }
  return outcome === 'written';
}

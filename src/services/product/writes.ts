/** The generic writes: create, update and delete. Each is one document write that holds the change and its events. */
import type { BusEvent } from '../../contracts/event';
import type { ProductRoute } from '../../contracts/operations/products';
import { problem } from '../../contracts/problem';
import { recordTag } from '../../domain/etag';
import { referencesTo } from '../../resources/registry';
import type { AnyRecord, Resource } from '../../resources/resource';
import {
  changeResource,
  findResource,
  insertResource,
  isReferenced,
  nextNumber,
  pendingOf,
  removeResource,
  type Place,
  type WriteOutcome,
} from '../../store/resources';
import { checkPrecondition, placeOf, requireRecord, type ProductCall, type ProductReply } from './call';
import { checkTransition, defaultsOf, eventsOf, isUnchanged, valuesOf } from './changes';
import { checkReferences } from './references';

/** Writers of one record at the same time go one after the other; more in a row than this is refused. */
const ATTEMPTS_MAX = 8;

const duplicateReference = (row: Resource) =>
  problem('conflict', {
    message: `Another ${row.nouns[0]} has one of these external references.`,
    facts: { field: 'externalRefs' },
  });

function handOver(call: ProductCall, { row }: Place, id: string, events: BusEvent[]): void {
  if (events.length > 0) call.context.outbox.publishSoon(pendingOf(call.context.store, row, id, events));
}

const shown = (status: number, record: AnyRecord): ProductReply => ({
  status,
  body: record,
  etag: recordTag(record.id, record.version),
});

/** The numbers of a new record. They are taken last, so that a refused create leaves no gap. */
async function takeNumbers(call: ProductCall, { row, tenantId }: Place): Promise<Record<string, number>> {
  const counted = Object.entries(row.fields).flatMap(([name, { traits }]) =>
    traits.countsFrom === null ? [] : [{ name, from: traits.countsFrom }],
  );
  const taken = await Promise.all(
    counted.map(
      async ({ name, from }) =>
        [name, await nextNumber(call.context.store, tenantId, `${row.key}.${name}`, from)] as const,
    ),
  );
  return Object.fromEntries(taken);
}

/** Creates a record. */
export async function createRecord(route: ProductRoute, call: ProductCall): Promise<ProductReply> {
  const { context, principal } = call;
  const place = placeOf(route, call);
  const { row } = place;
  const id = call.newId(row.prefix);
  const location = `/${route.operation.service}${route.operation.path}/${id}`;
  const made = call.isRepeat ? await findResource(context.store, place, id) : null;
  if (made) return { ...shown(201, made), headers: { Location: location } };
  const now = context.clock.now().toISOString();
  const draft: AnyRecord = {
    id,
    version: 1,
    ...defaultsOf(row),
    externalRefs: [],
    ...valuesOf(row, call.body),
    createdAt: now,
    updatedAt: now,
    createdBy: principal.id,
  };
  const labels = await checkReferences(context.store, place, null, draft);
  const numbered = { ...draft, ...(await takeNumbers(call, place)) };
  const record: AnyRecord = { ...numbered, ...row.computed(numbered, null, now) };
  const events = eventsOf(row, { kind: 'create', before: null, after: record, principal, labels });
  const outcome = await insertResource(context.store, place, record, events);
  if (outcome === 'duplicate') throw duplicateReference(row);
  handOver(call, place, record.id, events);
  return { ...shown(201, record), headers: { Location: location } };
}

/** Repeats a change on the record's newest version until nobody was faster. `attempt` answers null when somebody was. */
async function untilWritten(row: Resource, attempt: () => Promise<ProductReply | null>): Promise<ProductReply> {
  for (let tries = 0; tries < ATTEMPTS_MAX; tries += 1) {
    const reply = await attempt();
    if (reply) return reply;
  }
  throw problem('conflict', { message: `This ${row.nouns[0]} is being changed by many requests at once; try again.` });
}

/** True when the write stands; a stale one is to be repeated. */
function stands(row: Resource, outcome: WriteOutcome): boolean {
  if (outcome === 'duplicate') throw duplicateReference(row);
  return outcome === 'written';
}

/** Changes the fields that were sent. A change that changes nothing is no new version and no event. */
export async function updateRecord(route: ProductRoute, call: ProductCall): Promise<ProductReply> {
  const { context, principal } = call;
  const place = placeOf(route, call);
  const { row } = place;
  const values = valuesOf(row, call.body);
  return untilWritten(row, async () => {
    const before = await requireRecord(place, call);
    const wanted: AnyRecord = { ...before, ...values };
    // An earlier run of this request has made the change already, so the version it was meant for is gone.
    if (call.isRepeat && isUnchanged(row, before, wanted)) return shown(200, before);
    checkPrecondition(call, before);
    const moment = context.clock.now();
    const now = moment.toISOString();
    checkTransition(row, before, wanted, moment);
    if (isUnchanged(row, before, wanted)) return shown(200, before);
    const labels = await checkReferences(context.store, place, before, wanted);
    const after: AnyRecord = {
      ...wanted,
      ...row.computed(wanted, before, now),
      version: before.version + 1,
      updatedAt: now,
    };
    const events = eventsOf(row, { kind: 'update', before, after, principal, labels });
    if (!stands(row, await changeResource(context.store, place, { before, after }, events))) return null;
    handOver(call, place, after.id, events);
    return shown(200, after);
  });
}

async function checkUnreferenced(call: ProductCall, { row, tenantId }: Place, id: string): Promise<void> {
  if (!row.isKeptWhileReferenced) return;
  const references = referencesTo(row);
  const held = await Promise.all(
    references.map((reference) => isReferenced(call.context.store, tenantId, reference, id)),
  );
  const holders = [...new Set(references.filter((_, index) => held[index]).map(({ from }) => from.nouns[1]))];
  if (holders.length === 0) return;
  throw problem('conflict', {
    message: `The ${row.nouns[0]} is still named by ${holders.join(', ')}; change or delete them first.`,
    facts: { referencedBy: holders },
  });
}

/** Deletes a record: it leaves every read at once; its tombstone keeps the event until it is handed over. */
export async function deleteRecord(route: ProductRoute, call: ProductCall): Promise<ProductReply> {
  const { context, principal } = call;
  const place = placeOf(route, call);
  const { row } = place;
  return untilWritten(row, async () => {
    const before = await requireRecord(place, call);
    checkPrecondition(call, before);
    await checkUnreferenced(call, place, before.id);
    const at = context.clock.now();
    const after = { ...before, version: before.version + 1, updatedAt: at.toISOString() };
    const labels = await checkReferences(context.store, place, before, before);
    const events = eventsOf(row, { kind: 'delete', before, after, principal, labels });
    if (!stands(row, await removeResource(context.store, place, { before, at }, events))) return null;
    handOver(call, place, before.id, events);
    return { status: 204 };
  });
}

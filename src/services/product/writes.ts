/** The generic writes: create, update and delete. Each is one document write that holds the change and its events. */
import type { ProductRoute } from '../../contracts/operations/products';
import { problem } from '../../contracts/problem';
import { referencesTo } from '../../resources/registry';
import { eventsOf } from '../../events/record-events';
import { countedValue } from '../../resources/field';
import type { AnyRecord, States } from '../../resources/resource';
import {
  changeResource,
  findResource,
  insertResource,
  isReferenced,
  nextNumber,
  removeResource,
  type Place,
} from '../../store/resources';
import { checkPrecondition, placeOf, requireRecord, type ProductCall, type ProductReply } from './call';
import {
  checkInitial,
  checkKept,
  checkRule,
  checkTransition,
  defaultsOf,
  isUnchanged,
  valuesOf,
  withValues,
} from './changes';
import { fencePortal, fenceUnknown } from './portal-fence';
import { checkSwitchedOn } from './portal-settings';
import { checkHeld, checkReferences } from './references';
import { checkAlone } from './singleton';
import { actorOf, handOver, shown, stands, untilWritten } from './writing';

/** The numbers of a new record. They are taken last, so that a refused create leaves no gap. */
async function takeNumbers(call: ProductCall, { row, tenantId }: Place): Promise<Record<string, number | string>> {
  const counted = Object.entries(row.fields).flatMap(([name, { traits }]) =>
    traits.countsFrom === null ? [] : [{ name, traits, from: traits.countsFrom }],
  );
  const taken = await Promise.all(
    counted.map(async ({ name, traits, from }) => {
      const number = await nextNumber(call.context.store, tenantId, `${row.key}.${name}`, from);
      return [name, countedValue(traits, number)] as const;
    }),
  );
  return Object.fromEntries(taken);
}

/** Creates a record. */
export async function createRecord(route: ProductRoute, call: ProductCall): Promise<ProductReply> {
  const { context, principal } = call;
  const place = placeOf(route, call);
  const { row } = place;
  const id = call.newId(row.prefix);
  const location = `/${route.operation.service}${route.operation.path.replace(':id', call.parentId ?? '')}/${id}`;
  const made = call.isRepeat ? await findResource(context.store, place, id) : null;
  if (made) return { ...shown(201, made), headers: { Location: location } };
  await checkSwitchedOn(call, row);
  await checkAlone(call, place, id);
  const now = context.clock.now().toISOString();
  const birth = { createdAt: now, updatedAt: now, createdBy: principal.id, deletedAt: null };
  const base = { externalRefs: [], customFields: {}, ...birth };
  const draft = withValues({ id, version: 1, ...defaultsOf(row), ...base }, valuesOf(row, call.body));
  checkInitial(row, draft);
  const labels = await checkReferences(context.store, place, null, draft);
  checkRule(row, draft, null, labels.after);
  const numbered = { ...draft, ...(await takeNumbers(call, place)) };
  const record: AnyRecord = { ...numbered, ...row.computed(numbered, null, now) };
  const actor = actorOf(call);
  // Defaults hold while a singleton is not there: making it is a change of them, and told as one.
  const before = row.isSingleton ? { ...record, ...defaultsOf(row), customFields: {} } : null;
  const kind = before ? 'update' : 'create';
  const events = eventsOf(row, { kind, tenantId: place.tenantId, before, after: record, actor, labels });
  const outcome = await insertResource(context.store, place, record, events);
  await stands(call, place, { after: record, outcome });
  await handOver(call, place, record.id, events);
  return { ...shown(201, record), headers: { Location: location } };
}

/** What a change makes of the record, and the state moves it may make where they are not the row's own. */
interface Wish {
  values: (before: AnyRecord, now: string) => Record<string, unknown>;
  from?: States<AnyRecord>['from'] | undefined;
}

/** Changes the fields that were sent. A change that changes nothing is no new version and no event. */
export async function updateRecord(route: ProductRoute, call: ProductCall): Promise<ProductReply> {
  const values = valuesOf(route.resource, call.body);
  return changeRecord(route, call, { values: () => values });
}

/** Does what an action of the row declares; all that holds for a change holds for it too. */
export async function actOnRecord(route: ProductRoute, call: ProductCall): Promise<ProductReply> {
  const { resource: row } = route;
  const action = row.actions[route.act ?? ''];
  if (!action) throw new Error(`${row.key} has no action "${route.act}"`);
  return changeRecord(route, call, {
    values: (before, now) => valuesOf(row, action.change(before, call.body, now)),
    from: action.from,
  });
}

async function changeRecord(route: ProductRoute, call: ProductCall, wish: Wish): Promise<ProductReply> {
  const { context } = call;
  const place = placeOf(route, call);
  const { row, tenantId } = place;
  return untilWritten(row, async () => {
    const before = await requireRecord(place, call);
    const moment = context.clock.now();
    const now = moment.toISOString();
    const wanted = withValues(before, wish.values(before, now));
    const isDone = isUnchanged(row, before, wanted);
    // An earlier run of this request has made the change already, so the version it was meant for is gone.
    if (!(call.isRepeat && isDone)) {
      checkPrecondition(call, before);
      checkTransition(row, { before, after: wanted, from: wish.from }, moment);
    }
    if (isDone) {
      // Whoever made it what it is may have died before the fence: what is answered is in force.
      await fencePortal(call, place, before, before);
      return shown(200, before);
    }
    const labels = await checkReferences(context.store, place, before, wanted);
    checkRule(row, wanted, before, labels.after);
    await checkHeld(context.store, place, before, wanted);
    const after: AnyRecord = {
      ...wanted,
      ...row.computed(wanted, before, now),
      version: before.version + 1,
      updatedAt: now,
    };
    const events = eventsOf(row, { kind: 'update', tenantId, before, after, actor: actorOf(call), labels });
    const written = changeResource(context.store, place, { before, after }, events);
    const outcome = await written.catch(fenceUnknown(call, place));
    if (!(await stands(call, place, { after, outcome }))) return null;
    await fencePortal(call, place, before, after);
    await handOver(call, place, after.id, events);
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
  const { context } = call;
  const place = placeOf(route, call);
  const { row, tenantId } = place;
  return untilWritten(row, async () => {
    const before = await requireRecord(place, call);
    checkPrecondition(call, before);
    checkKept(row, before);
    await checkUnreferenced(call, place, before.id);
    const at = context.clock.now();
    const after = { ...before, version: before.version + 1, updatedAt: at.toISOString() };
    const labels = await checkReferences(context.store, place, before, before);
    const events = eventsOf(row, { kind: 'delete', tenantId, before, after, actor: actorOf(call), labels });
    const removed = removeResource(context.store, place, { before, at }, events);
    const outcome = await removed.catch(fenceUnknown(call, place));
    if (!(await stands(call, place, { after, outcome }))) return null;
    await fencePortal(call, place, before, null);
    await handOver(call, place, before.id, events);
    return { status: 204 };
  });
}

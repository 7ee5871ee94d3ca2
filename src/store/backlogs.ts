/**
 * What waits for the relay. Each backlog is a partial index, so only what waits is in it, and most are empty most of the
 * time: one command asks many of them whether anything is. A query for each costs an idle process and its store over
 * three times as much.
 */
import type { mongo } from 'mongoose';
import type { Resource } from '../resources/resource';
import { approvals } from './approvals';
import type { Collection, Index, Store } from './collection';
import { deliveries } from './deliveries';
import { events } from './events';
import { executions } from './executions';
import { collectionOf, OUTBOX_INDEX, OWES_INDEX } from './resource-documents';
import { canOwe } from './resource-marks';
import { webhooks } from './webhooks';

/** Plans grow faster than the commands they are for. */
const ASKED_AT_ONCE = 16;

interface Backlog {
  of: Collection<unknown>;
  index: string;
}

/** Where something waits. What only begins to wait meanwhile is found the next time. */
export interface Waiting {
  /** Resources with events in an outbox. */
  outboxes: Resource[];
  /** Resources with figures that others must be told of. */
  debts: Resource[];
  events: boolean;
  deliveries: boolean;
  reports: boolean;
}

const backlog = <Record_>(of: Collection<Record_>, index: string): Backlog => ({
  of: of as unknown as Collection<unknown>,
  index,
});

const EVENTS = backlog(events, 'opening');
const DELIVERIES = backlog(deliveries, 'due');
const REPORTS = [backlog(executions, 'unreported'), backlog(approvals, 'unreported'), backlog(webhooks, 'unannounced')];

function indexOf({ of, index }: Backlog): Index & { where: Record<string, unknown> } {
  const found = of.indexes.find(({ name }) => name === index);
  if (!found?.where) throw new Error(`${of.name} has no partial index ${index}`);
  return { ...found, where: found.where };
}

/** One document at the most, with the backlog's place in the question. Sorted, so that no plan reads past the index. */
function lookInto(asked: Backlog, place: number): mongo.BSON.Document[] {
  const { keys, where } = indexOf(asked);
  return [{ $match: where }, { $sort: keys }, { $limit: 1 }, { $project: { _id: 0, place: { $literal: place } } }];
}

async function ask(store: Store, backlogs: readonly Backlog[]): Promise<Backlog[]> {
  const [first, ...others] = backlogs;
  if (!first) return [];
  const unions = others.map((other, index) => ({
    $unionWith: { coll: other.of.name, pipeline: lookInto(other, index + 1) },
  }));
  const found = await first.of
    .in(store)
    .collection.aggregate<{ place: number }>([...lookInto(first, 0), ...unions])
    .toArray();
  return found.flatMap(({ place }) => backlogs[place] ?? []);
}

/** Those of the backlogs that are not empty. */
async function notEmpty(store: Store, backlogs: readonly Backlog[]): Promise<Set<Backlog>> {
  const groups: Backlog[][] = [];
  for (let at = 0; at < backlogs.length; at += ASKED_AT_ONCE) groups.push(backlogs.slice(at, at + ASKED_AT_ONCE));
  return new Set((await Promise.all(groups.map((group) => ask(store, group)))).flat());
}

/** Asks the outboxes and debts of these resources, and all else the relay looks after. */
export async function whatWaits(store: Store, rows: readonly Resource[]): Promise<Waiting> {
  const outboxes = new Map(rows.map((row) => [row, backlog(collectionOf(row), OUTBOX_INDEX)]));
  const debts = new Map(rows.filter(canOwe).map((row) => [row, backlog(collectionOf(row), OWES_INDEX)]));
  const all = [EVENTS, DELIVERIES, ...REPORTS, ...outboxes.values(), ...debts.values()];
  const found = await notEmpty(store, all);
  const withAny = (asked: typeof outboxes): Resource[] =>
    [...asked].filter(([, ofRow]) => found.has(ofRow)).map(([row]) => row);
  return {
    outboxes: withAny(outboxes),
    debts: withAny(debts),
    events: found.has(EVENTS),
    deliveries: found.has(DELIVERIES),
    reports: REPORTS.some((report) => found.has(report)),
  };
}

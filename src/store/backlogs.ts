/**
 * What waits for the relay. Each backlog is a partial index, so only what waits is in it, and most are empty most of the
 * time: one command asks many of them whether anything is. A query for each costs an idle process and its store over
 * three times as much.
 */
import type { PipelineStage } from 'mongoose';
import { ROWS } from '../resources/registry';
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
  index: Index & { where: Record<string, unknown> };
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

function backlog<Record_>(of: Collection<Record_>, name: string): Backlog {
  const index = of.indexes.find((declared) => declared.name === name);
  if (!index?.where) throw new Error(`${of.name} has no partial index ${name}`);
  return { of: of as unknown as Collection<unknown>, index: { ...index, where: index.where } };
}

const EVENTS = backlog(events, 'opening');
const DELIVERIES = backlog(deliveries, 'due');
const REPORTS = [backlog(executions, 'unreported'), backlog(approvals, 'unreported'), backlog(webhooks, 'unannounced')];

const OUTBOXES = new Map(ROWS.map((row) => [row, backlog(collectionOf(row), OUTBOX_INDEX)]));
const DEBTS = new Map(ROWS.filter(canOwe).map((row) => [row, backlog(collectionOf(row), OWES_INDEX)]));

/** One document at the most, with the backlog's place in the question. Sorted, so that no plan reads past the index. */
const lookInto = ({ index: { keys, where } }: Backlog, place: number): PipelineStage.FacetPipelineStage[] => [
  { $match: where },
  { $sort: keys as PipelineStage.Sort['$sort'] },
  { $limit: 1 },
  { $project: { _id: 0, place: { $literal: place } } },
];

async function ask(store: Store, backlogs: readonly Backlog[]): Promise<Backlog[]> {
  const [first, ...others] = backlogs;
  if (!first) return [];
  const unions = others.map((other, index) => ({
    $unionWith: { coll: other.of.name, pipeline: lookInto(other, index + 1) },
  }));
  const found = await first.of
    .in(store)
    .aggregate<{ place: number }>([...lookInto(first, 0), ...unions])
    .exec();
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
  const ofRows = [OUTBOXES, DEBTS].flatMap((backlogs) => rows.flatMap((row) => backlogs.get(row) ?? []));
  const found = await notEmpty(store, [EVENTS, DELIVERIES, ...REPORTS, ...ofRows]);
  const isAny = (asked: Backlog | undefined): boolean => asked !== undefined && found.has(asked);
  return {
    outboxes: rows.filter((row) => isAny(OUTBOXES.get(row))),
    debts: rows.filter((row) => isAny(DEBTS.get(row))),
    events: isAny(EVENTS),
    deliveries: isAny(DELIVERIES),
    reports: REPORTS.some(isAny),
  };
}

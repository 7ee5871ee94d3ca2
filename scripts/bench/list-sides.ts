/** The large and the small database of T10 and T11, each with a process of the API, and what lists are compared with. */
import type { Position } from '../../src/domain/sealed-token';
import { tickets } from '../../src/resources/tickets';
import type { Shot } from './http-load';
import type { Database, HttpStage, Server } from './http-stage';
import { collectionOf } from './seed-rows';
import type { Caller } from './tenants';

const FIND_ONE_IDS = 64;

type Row = Record<string, unknown> & { _id: string };

/** Where lists are read, through the store and through a process of the API. */
export interface Side {
  database: Database;
  keys: Caller[];
  api: Server;
  /** The ticket in the middle of the tenant's tickets by time. */
  middle: Row;
}

export interface Desk {
  stage: HttpStage;
  large: Side;
  small: Side;
  bare: Server;
  ids: string[];
}

export const placeOf = ({ database }: Side) => ({ row: tickets, tenantId: database.orgId });

async function middleOf({ store, orgId, rows }: Database): Promise<Row> {
  const halfAgo = new Date(Date.now() - (rows / 2) * 1_000);
  const [found] = await collectionOf(store, tickets.collection)
    .find({ tenantId: orgId, createdAt: { $lte: halfAgo }, status: 'open' })
    .sort({ createdAt: -1, _id: -1 })
    .hint('status_by_createdAt')
    .limit(1)
    .toArray();
  if (!found) throw new Error('no ticket in the middle');
  return found;
}

export const shown = (value: unknown): Position['value'] =>
  value instanceof Date ? value.toISOString() : ((value ?? null) as Position['value']);

export const positionOf = (row: Row, orderBy: string): Position => ({ value: shown(row[orderBy]), id: row._id });

/** Raw `findOne` by id, of one ticket after another. */
export function finder({ database }: Side, ids: readonly string[]): Shot {
  const from = collectionOf(database.store, tickets.collection);
  let turn = 0;
  return async () => {
    turn += 1;
    const found = await from.findOne({ _id: ids[turn % ids.length] ?? '', tenantId: database.orgId });
    if (!found) throw new Error('no such ticket');
  };
}

/** Seeds the large database beside the small one of the stage. */
export async function openDesk(stage: HttpStage, rows: number): Promise<Desk> {
  const { database, keys } = await stage.openLarge(rows);
  const [api, bare] = await Promise.all([
    stage.startApi('api-large', database.uri),
    stage.startBare('bare-large', database.uri),
  ]);
  const large = { database, keys, api, middle: await middleOf(database) };
  const small = { database: stage.database, keys: stage.keys, api: stage.api, middle: await middleOf(stage.database) };
  const found = await collectionOf(database.store, tickets.collection)
    .find({ tenantId: database.orgId }, { projection: { _id: 1 } })
    .limit(FIND_ONE_IDS)
    .toArray();
  return { stage, large, small, bare, ids: found.map(({ _id }) => _id) };
}

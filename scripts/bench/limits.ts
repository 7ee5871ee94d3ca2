/** T14: limits at three processes of the API over real minutes, and how soon a revoked key is refused. */
import { newId } from '../../src/domain/ids';
import { phaseOf, TIER_RATES, WINDOW_MS } from '../../src/domain/rate-limit';
import type { Tier } from '../../src/contracts/principal';
import { rounded, type Figure } from './figures';
import type { Answered } from './http-load';
import { takingTurns, type HttpStage, type Server } from './http-stage';
import { pause } from './lanes';
import { measureRevocation } from './revocation';
import { withProgress, type Log } from './seed-rows';
import { createKey, createOrg, type Caller } from './tenants';

const WINDOWS = 10;
const WINDOWS_SHORT = 2;
const PER_MINUTE = 1_000;
const KEYS = 4;
/** Requests come in volleys, so that the processes race for the same document. */
const VOLLEY_MS = 250;
/** Behind the beginning of a window, so that no request is under way when the next one begins. */
const AFTER_START_MS = 100;
const AHEAD_MS = 4_000;
const LOADS = [0.9, 1, 2];
const PATH = '/psa/api/tickets?limit=1';

/** One tenant under one load. */
interface Trial {
  name: string;
  callers: Caller[];
  perMinute: number;
}

/** What one window saw: requests, those let in, and the window's limit. */
interface Row {
  offered: number;
  admitted: number;
  limit: number;
}

interface Outcome {
  status: number;
  /** When the window that the reply speaks of ends, in seconds. */
  window: string;
  /** Why it belongs to no window. */
  why?: string;
}

/** An id whose windows begin at this moment of the minute. */
function orgBeginningAt(moment: number): string {
  for (;;) {
    const id = newId('org');
    const late = (moment - phaseOf(id) + WINDOW_MS) % WINDOW_MS;
    if (late < AFTER_START_MS / 4) return id;
  }
}

async function makeOrg(stage: HttpStage, spec: { begin: number; perMinute?: number; tier?: Tier; keys: number }) {
  const { store } = stage.database;
  const orgId = orgBeginningAt(spec.begin);
  await createOrg(store, orgId, spec.perMinute);
  const callers: Caller[] = [];
  for (let made = 0; made < spec.keys; made += 1)
    callers.push(await createKey(store, stage.config, orgId, { tier: spec.tier ?? 'enterprise' }));
  return callers;
}

/** What an overloaded machine did not answer in time, or with 503, belongs to no window; it is told, not hidden. */
const unanswered = (why: string): Outcome => ({ status: 503, window: '', why });

/** What undici or the system calls it: a time limit, a connection that was closed. */
const failureOf = (error: unknown): Outcome =>
  unanswered((error as { code?: string } | null)?.code ?? (error instanceof Error ? error.message : String(error)));

const outcomeOf = ({ status, headers, text }: Answered): Outcome => {
  if (status === 503) return unanswered('503');
  if (status !== 200 && status !== 429) throw new Error(`answered ${status}: ${text}`);
  return { status, window: String(headers['x-ratelimit-reset']) };
};

interface Playing {
  stage: HttpStage;
  servers: readonly Server[];
  begin: number;
  windows: number;
}

/** Fires volleys at all processes until the last window is over. */
async function play({ stage, servers, begin, windows }: Playing, trial: Trial): Promise<Outcome[]> {
  const headers = takingTurns(trial.callers);
  const fired: Promise<Outcome>[] = [];
  const volleys = (windows * WINDOW_MS) / VOLLEY_MS;
  for (let volley = 0; volley < volleys; volley += 1) {
    await pause(Math.max(0, begin + AFTER_START_MS + volley * VOLLEY_MS - Date.now()));
    const due = Math.round(((volley + 1) * VOLLEY_MS * trial.perMinute) / WINDOW_MS);
    while (fired.length < due) {
      const server = servers[fired.length % servers.length];
      if (!server) throw new Error('no process to ask');
      const one = stage.client.ask({ port: server.port, path: PATH, headers }).then(outcomeOf, failureOf);
      // Looked at when all have been fired; until then a failure must not end the process.
      one.catch(() => undefined);
      fired.push(one);
    }
  }
  return Promise.all(fired);
}

function rowsOf(outcomes: readonly Outcome[]): Row[] {
  const rows = new Map<string, Row>();
  for (const { status, window } of outcomes) {
    if (window === '') continue;
    const row = rows.get(window) ?? { offered: 0, admitted: 0, limit: PER_MINUTE };
    row.offered += 1;
    if (status === 200) row.admitted += 1;
    rows.set(window, row);
  }
  return [...rows].toSorted(([one], [other]) => Number(one) - Number(other)).map(([, row]) => row);
}

/** How many requests belong to no window, by reason. */
function reasonsIn(outcomes: readonly Outcome[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { why } of outcomes) if (why !== undefined) counts[why] = (counts[why] ?? 0) + 1;
  return counts;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const above = (rows: readonly Row[]): number => sum(rows.map(({ admitted, limit }) => Math.max(0, admitted - limit)));
const below = (rows: readonly Row[]): number =>
  sum(rows.map(({ offered, admitted, limit }) => Math.max(0, Math.min(offered, limit) - admitted)));

const countFigure = (name: string, ours: number, more: Record<string, unknown>): Figure => ({
  budget: 'T14',
  name,
  unit: 'requests',
  ours,
  bare: null,
  floor: { bound: 'at most', value: 0, of: 'ours' },
  more,
});

/** A key's bucket over the whole time: its burst, and what flowed in meanwhile. */
function bucketRow(outcomes: readonly Outcome[], tookMs: number): Row {
  const { burst, sustained } = TIER_RATES.standard;
  const limit = burst + Math.ceil((tookMs * sustained) / WINDOW_MS);
  return { offered: outcomes.length, admitted: outcomes.filter(({ status }) => status === 200).length, limit };
}

async function measureExactness(stage: HttpStage, servers: readonly Server[], windows: number, log: Log) {
  const begin = Date.now() + AHEAD_MS;
  const trials: Trial[] = [];
  for (const load of LOADS) {
    const callers = await makeOrg(stage, { begin, perMinute: PER_MINUTE, keys: KEYS });
    trials.push({ name: `${load} × the window`, callers, perMinute: PER_MINUTE * load });
  }
  const keyed = await makeOrg(stage, { begin, tier: 'standard', keys: 1 });
  const bucket: Trial = { name: 'bucket', callers: keyed, perMinute: 2 * TIER_RATES.standard.sustained };
  if (Date.now() > begin) throw new Error('the machine is too busy to begin with a window');
  const playing = { stage, servers, begin, windows };
  const played = Promise.all([...trials, bucket].map((trial) => play(playing, trial)));
  const outcomes = await withProgress(log, () => `T14, ${windows} windows of a minute`, played);
  const figures = trials.flatMap(({ name }, index) => {
    const rows = rowsOf(outcomes[index] ?? []);
    const table = { windows: rows.length, unanswered: reasonsIn(outcomes[index] ?? []), table: rows };
    return [
      countFigure(`admitted above the window, ${servers.length} processes, ${name}`, above(rows), table),
      countFigure(`refused although there was room, ${name}`, below(rows), {}),
    ];
  });
  const row = bucketRow(outcomes[trials.length] ?? [], Date.now() - begin);
  return [
    ...figures,
    countFigure("admitted above a key's bucket, 2 × what flows in", above([row]), {
      ...row,
      minutes: rounded(windows),
    }),
  ];
}

/** Measures both with three processes on one store. */
export async function measureLimits(
  stage: HttpStage,
  { isShort, log }: { isShort: boolean; log: Log },
): Promise<Figure[]> {
  const servers = [stage.api, await stage.startApi('api-two'), await stage.startApi('api-three')];
  const revocation = await measureRevocation(stage, servers);
  const exactness = await measureExactness(stage, servers, isShort ? WINDOWS_SHORT : WINDOWS, log);
  return [...exactness, ...revocation];
}

/** What a key was used for: figures over time, and deprecated operations that it still calls. */
import type { Context } from '../../context';
import type { KeyUsageQuery } from '../../contracts/key';
import type { Handlers, Operation } from '../../contracts/operation';
import type { consoleOperations } from '../../contracts/operations/console';
import { problem } from '../../contracts/problem';
import {
  addCounts,
  addFigures,
  bucketStarts,
  DAY_MS,
  HOUR_MS,
  noFigures,
  p95Of,
  USAGE_DAYS_KEPT,
  type Counts,
  type HourFigures,
} from '../../domain/usage';
import { findKey, listKeys } from '../../store/keys';
import { readDeprecatedUse } from '../../store/usage';
import { readHours } from '../../store/usage-hours';

type UsageHandlers = Pick<Handlers<typeof consoleOperations, Context>, 'getApiKeyUsage'>;
type DeprecationHandlers = Pick<Handlers<typeof consoleOperations, Context>, 'listDeprecations'>;

/** Length of a bucket, what is shown when no time is named, and the longest span that may be asked for. */
const INTERVALS = {
  hour: { lengthMs: HOUR_MS, usualMs: DAY_MS, longestDays: 31 },
  day: { lengthMs: DAY_MS, usualMs: 30 * DAY_MS, longestDays: USAGE_DAYS_KEPT },
} as const;
const TOP_PATHS = 10;
const KEYS_MAX = 100;

function refuse(path: 'from' | 'to', message: string): never {
  throw problem('validation_error', {
    message: `${path}: ${message}`,
    findings: [{ path, code: 'range', message }],
  });
}

interface Range {
  interval: keyof typeof INTERVALS;
  lengthMs: number;
  starts: number[];
}

/** The buckets asked for, none of them in the future. */
function rangeOf({ from, to, interval = 'hour' }: KeyUsageQuery, now: Date): Range {
  const { lengthMs, usualMs, longestDays } = INTERVALS[interval];
  const last = to === undefined ? now : new Date(to);
  const until = last < now ? last : now;
  const first = from === undefined ? new Date(until.getTime() - usualMs) : new Date(from);
  if (first >= last) refuse('from', 'must be before to');
  if (first >= now) refuse('from', 'must be in the past');
  if (until.getTime() - first.getTime() > longestDays * DAY_MS)
    refuse('from', `must be at most ${longestDays} days before to for the interval ${interval}`);
  if (now.getTime() - first.getTime() > (USAGE_DAYS_KEPT + 1) * DAY_MS)
    refuse('from', `must not be more than ${USAGE_DAYS_KEPT} days ago: older figures are not kept`);
  return { interval, lengthMs, starts: bucketStarts(first, until, lengthMs) };
}

/** `GET /psa/api/tickets/:id` belongs to `psa`. */
function byProduct(paths: Counts): Counts {
  const products: Counts = {};
  for (const [path, count] of Object.entries(paths)) addCounts(products, { [path.split('/')[1] ?? '']: count });
  return products;
}

const topPaths = ({ paths, failedPaths }: HourFigures) =>
  Object.entries(paths)
    .toSorted(([one, count], [other, more]) => more - count || (one < other ? -1 : 1))
    .slice(0, TOP_PATHS)
    .map(([label, requests]) => {
      const [method = '', path = ''] = label.split(' ');
      return { method, path, requests, errors: failedPaths[label] ?? 0 };
    });

/** Handler of `/console/api/api-keys/:id/usage`. */
export const usageHandlers: UsageHandlers = {
  async getApiKeyUsage({ params, query, principal, context }) {
    const key = await findKey(context.store, principal.orgId, params.id);
    if (!key) throw problem('not_found', { message: 'No such API key in this org.' });
    const { interval, lengthMs, starts } = rangeOf(query, context.clock.now());
    const fromMs = starts[0] ?? 0;
    const toMs = fromMs + starts.length * lengthMs;
    const buckets = new Map(starts.map((start) => [start, noFigures()]));
    const total = noFigures();
    for (const hour of await readHours(context.store, key._id, { fromMs, toMs })) {
      const bucket = buckets.get(Math.floor(hour.startMs / lengthMs) * lengthMs);
      if (bucket) addFigures(bucket, hour);
      addFigures(total, hour);
    }
    const items = [...buckets].map(([start, { requests, errors, rateLimited, durations }]) => ({
      at: new Date(start).toISOString(),
      requests,
      errors,
      rateLimited,
      p95Ms: p95Of(durations),
    }));
    const span = { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString(), interval };
    const totals = { byProduct: byProduct(total.paths), byStatus: total.statuses, topPaths: topPaths(total) };
    return { status: 200, body: { ...span, items, ...totals } };
  },
};

/** Handler of `/console/api/deprecations` over these operations. */
export const deprecationHandlers = (operations: readonly Operation[]): DeprecationHandlers => ({
  async listDeprecations({ principal, context }) {
    const going = operations.flatMap(({ deprecated, ...operation }) => (deprecated ? [{ operation, deprecated }] : []));
    const list = { orgId: principal.orgId, status: 'active', now: context.clock.now(), limit: KEYS_MAX } as const;
    const keys = going.length === 0 ? [] : await listKeys(context.store, list);
    const used = await readDeprecatedUse(
      context.store,
      keys.map(({ _id }) => _id),
    );
    const items = going.map(({ operation, deprecated }) => ({
      operation: operation.id,
      method: operation.method,
      path: `/${operation.service}${operation.path}`,
      since: deprecated.since,
      sunset: deprecated.sunset,
      successor: deprecated.successor ?? null,
      keys: keys.flatMap(({ _id: id, name }) => {
        const use = used.get(id)?.[operation.id];
        return use ? [{ id, name, requests: use.n, lastUsedAt: use.at.toISOString() }] : [];
      }),
    }));
    return { status: 200, body: { items } };
  },
});

/** Bugs that somebody could write one day, each with the test that must notice. */

import { CONTROLS } from './controls';
import type { Mutation } from './mutation';

const PAGES = 'src/store/resource-pages.ts';
const RECORDS = 'src/store/resources.ts';
const READS = 'src/services/product/reads.ts';
const TOKENS = 'src/domain/sealed-token.ts';
const GUARD = 'src/store/guard-pipeline.ts';
const ONCE = 'src/http/idempotency.ts';
const CREDITS = 'src/store/credits.ts';

const LISTS = 'test/integration/product/lists.test.ts';
const LIFECYCLE = 'test/integration/product/lifecycle.test.ts';
const CREDENTIALS = 'test/integration/auth/credentials.test.ts';
const LIMITS_MODEL = 'test/integration/models/limits.test.ts';
const TOGETHER = 'test/integration/agents/written-together.test.ts';
const CREDITS_MODEL = 'test/integration/models/credits.test.ts';
const PAGES_MODEL = 'test/integration/models/pagination.test.ts';
const KEYS_MODEL = 'test/integration/models/idempotency.test.ts';
const TOKENS_MODEL = 'test/unit/models/sealed-token.test.ts';
const KEY_LIFE = 'a key is free, held, answered';

const PROMISES: readonly Mutation[] = [
  {
    bug: 'the relay forgets a kind of what waits',
    file: 'src/store/backlogs.ts',
    before: '[EVENTS, DELIVERIES, ...REPORTS, ',
    after: '[EVENTS, ...REPORTS, ',
    test: 'test/integration/store/backlogs.test.ts',
  },
  {
    bug: 'pages lose rows that tie with the last one',
    file: PAGES,
    before: '? [[{ [field]: value }, { _id: { [beyond]: id } }], [',
    after: '? [[',
    test: LISTS,
  },
  {
    bug: 'a falling walk never reaches the rows without a value',
    file: PAGES,
    before: 'return sort.isNullable && !isRising ? [...rest, [{ [orderBy]: NOT_SET }]] : rest;',
    after: 'return rest;',
    test: PAGES_MODEL,
    name: 'deals by closedAt',
    needsApi: true,
  },
  {
    bug: 'tombstones are listed to who did not ask',
    file: PAGES,
    before: ': { deletedAt: null };',
    after: ': {};',
    test: PAGES_MODEL,
    name: 'deals by name',
    needsApi: true,
  },
  {
    bug: 'a list forgets the tenant',
    file: PAGES,
    before: 'return { tenantId, ...alive,',
    after: 'return { ...alive,',
    test: LISTS,
  },
  {
    bug: 'reads and changes of one record forget the tenant',
    file: RECORDS,
    before: '  tenantId,\n  ...(only',
    after: '  ...(only',
    test: 'test/integration/product/every-resource.test.ts',
    name: 'another tenant has no such record',
    needsApi: true,
  },
  {
    bug: 'a change overwrites one that came in between',
    file: RECORDS,
    before: '{ _id: before.id, version: before.version, ...live(place), ...guard }',
    after: '{ _id: before.id, ...live(place), ...guard }',
    test: LIFECYCLE,
  },
  {
    bug: 'an update leaves no event',
    file: RECORDS,
    before: "{ $unset: { refKeys: '' } }), ...pushed(events) };",
    after: "{ $unset: { refKeys: '' } }) };",
    test: 'test/integration/product/outbox.test.ts',
  },
  {
    bug: 'a continuation token opens a list with other filters',
    file: READS,
    before: '  query.filters,\n',
    after: '',
    test: LISTS,
  },
  {
    bug: 'a continuation token opens the list of another tenant',
    file: READS,
    before: '  principal.orgId,\n  operation.service,',
    after: '  operation.service,',
    test: LISTS,
  },
  {
    bug: 'a token is sealed for no list in particular',
    file: TOKENS,
    before: "hash('sha256', JSON.stringify(bound), 'buffer')",
    after: "hash('sha256', typeof bound, 'buffer')",
    test: TOKENS_MODEL,
  },
  {
    bug: 'tokens live for ever',
    file: TOKENS,
    before: 'now.getTime() - madeAt > lifetimeMs',
    after: 'now.getTime() < madeAt',
    test: TOKENS_MODEL,
  },
  {
    bug: 'an idempotency key takes any body',
    file: ONCE,
    before: "if (held.fingerprint !== fingerprint) throw problem('idempotency_key_reused');",
    after: '',
    test: KEYS_MODEL,
    name: KEY_LIFE,
  },
  {
    bug: 'a refusal that may pass is kept',
    file: 'src/domain/idempotency.ts',
    before: 'new Set([400, 402, 404,',
    after: 'new Set([400, 402, 404, 409,',
    test: KEYS_MODEL,
    name: KEY_LIFE,
  },
  {
    bug: 'a run that was taken over still answers',
    file: 'src/store/idempotency.ts',
    before: 'updateOne({ _id, lease_until: lease, status: null }, { $set: answer })',
    after: 'updateOne({ _id, status: null }, { $set: answer })',
    test: KEYS_MODEL,
    name: KEY_LIFE,
  },
  {
    bug: 'a remembered credential outlives its epoch',
    file: 'src/http/admission.ts',
    before: 'if (isRemembered || reading.epoch === held.epoch) return',
    after: 'if (isRemembered || reading.epoch >= held.epoch) return',
    test: CREDENTIALS,
  },
  {
    bug: 'a revoked key is accepted',
    file: 'src/http/authenticate.ts',
    before: "if (loaded.key.revokedAt) return 'revoked';",
    after: '',
    test: CREDENTIALS,
  },
  {
    bug: 'a window admits one more',
    file: GUARD,
    before: '[count, { $subtract: [limit, ',
    after: '[count, { $subtract: [limit + 1, ',
    test: LIMITS_MODEL,
  },
  {
    bug: 'a refused request is charged to the key',
    file: GUARD,
    before: "{ $cond: [{ $gt: ['$taken', 0] }, after, arrival] };",
    after: "{ $add: [{ $max: [arrival, '$at'] }, { $multiply: [count, interval] }] };",
    test: 'test/integration/auth/limits.test.ts',
    name: 'a spent window leaves the key uncharged',
  },
  {
    bug: 'a 304 is not given back to the window',
    file: GUARD,
    before: '{ $max: [0, { $subtract: [`$${field}`, count] }] }, `$${field}`]',
    after: '`$${field}`, `$${field}`]',
    test: LIMITS_MODEL,
  },
  {
    bug: 'a repeated settlement is booked twice',
    file: CREDITS,
    before: ', [`${field}.n`]: { $exists: true } },',
    after: ' },',
    test: CREDITS_MODEL,
  },
  {
    bug: 'writes that are made together undo what came between',
    file: 'src/store/execution-rounds.ts',
    before: 'filter: { ...filter, seq: write.known.seq }',
    after: 'filter',
    test: TOGETHER,
    name: 'what has changed since it was read',
  },
  {
    bug: 'a write that is made alone is answered without what came between',
    file: 'src/store/execution-rounds.ts',
    before: 'asKnown = { ...filter, seq: write.known.seq }',
    after: 'asKnown = filter',
    test: TOGETHER,
    name: 'one that is written alone',
  },
  {
    bug: 'a write that was made with others is taken for one that was not',
    file: 'src/store/execution-rounds.ts',
    before: 'made.has(mark) ?',
    after: 'made.has(write.known._id) ?',
    test: TOGETHER,
    name: 'what has changed since it was read',
  },
  {
    bug: 'an insert that was refused beside others counts as made',
    file: 'src/store/insert-once.ts',
    before: '!refused.includes(insert) || insertAlone(model, insert)',
    after: 'true',
    test: TOGETHER,
    name: 'an id that is taken',
  },
  {
    bug: 'a call that was settled and forgotten holds credits again',
    file: 'src/store/credits.ts',
    before: '      forgotten_to: { $not: { $gte: begun } },\n',
    after: '',
    test: 'test/workflow/sweep.test.ts',
    name: 'an account forgets calls',
    needsApi: true,
  },
  {
    bug: 'more credits are held than there are',
    file: CREDITS,
    before: 'available: { $gte: reservation.credits }',
    after: 'available: { $gte: 0 }',
    test: CREDITS_MODEL,
  },
  {
    bug: 'an endpoint that is gone is asked again',
    file: 'src/domain/webhooks/schedule.ts',
    before: "if (outcome.statusCode === GONE) return { kind: 'gone' };",
    after: '',
    test: 'test/unit/webhooks/decisions.test.ts',
  },
  {
    bug: 'a redirect counts as delivered',
    file: 'src/providers/webhooks.ts',
    before: 'if (status >= 200 && status < 300) return null;',
    after: 'if (status >= 200 && status < 400) return null;',
    test: 'test/integration/webhooks/receivers.test.ts',
    name: 'a redirect is a failure',
    needsApi: true,
  },
  {
    bug: 'an event is told whether its predicate holds or not',
    file: 'src/events/record-events.ts',
    before: '(rule.when?.(from, after) ?? true)',
    after: 'Boolean(rule.text)',
    test: 'test/integration/models/resources.test.ts',
    name: 'incidents answers as a map',
    needsApi: true,
  },
  {
    bug: 'documents are updated together in whatever order they come',
    file: 'src/store/update-each.ts',
    before: 'updates.toSorted(byId)',
    after: '[...updates]',
    test: 'test/integration/auth/counting-at-once.test.ts',
  },
  {
    bug: 'a page in the midst of one priority begins with the first row of it again',
    file: PAGES,
    before: '(value === after.value ? [rowsOf(value), beyond] : [rowsOf(value)])',
    after: '[rowsOf(value)]',
    test: LISTS,
    name: 'every row that stays',
  },
  {
    bug: 'priorities are listed by the alphabet',
    file: PAGES,
    before: "const values = direction === 'asc' ? choices : choices.toReversed();",
    after: "const values = direction === 'asc' ? choices.toSorted() : choices.toSorted().toReversed();",
    test: LISTS,
    name: 'chosen from a few',
  },
  {
    bug: 'of requests that are charged together all are admitted when one is',
    file: GUARD,
    before: '{ $max: [0, { $min: room }] }',
    after: '{ $cond: [{ $gt: [{ $min: room }, 0] }, count, 0] }',
    test: LIMITS_MODEL,
  },
  {
    bug: 'requests that are charged together are all told what the last one left',
    file: 'src/store/guards.ts',
    before: 'const later = Math.max(0, taken - nth);',
    after: 'const later = 0;',
    test: LIMITS_MODEL,
    name: 'charged together',
  },
];

/** Promises first, then the controls of the threats; the place in this list is the number of a bug. */
export const MUTATIONS: readonly Mutation[] = [...PROMISES, ...CONTROLS];

/** The dispatcher's decisions against a model: whatever receivers do, an event is delivered, waits, or can be replayed. */
import {
  array,
  assert,
  constant,
  constantFrom,
  double,
  integer,
  oneof,
  option,
  property,
  record,
  tuple,
  type Arbitrary,
} from 'fast-check';
import { PAUSES_MS, stageOf, verdictOf, type Outcome, type Verdict } from '../../../src/domain/webhooks/schedule';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const TRIES = PAUSES_MS.length + 1;

const outcomes = oneof(
  {
    weight: 3,
    arbitrary: constantFrom(500, 502, 404, 302, 400).map((statusCode) => ({
      ok: false,
      statusCode,
      retryAfterMs: null,
    })),
  },
  { weight: 2, arbitrary: constant({ ok: false, statusCode: null, retryAfterMs: null }) },
  { weight: 1, arbitrary: constant({ ok: false, statusCode: 410, retryAfterMs: null }) },
  {
    weight: 2,
    arbitrary: record({
      ok: constant(false),
      statusCode: constantFrom(429, 503),
      retryAfterMs: option(integer({ min: 0, max: 3 * DAY })),
    }),
  },
  {
    weight: 2,
    arbitrary: constantFrom(200, 201, 204).map((statusCode) => ({ ok: true, statusCode, retryAfterMs: null })),
  },
) as Arbitrary<Outcome>;
const random = double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

test('a delivery ends within ten tries, and by its first success if there is one', () => {
  assert(
    property(array(tuple(outcomes, random), { minLength: TRIES, maxLength: TRIES }), (all) => {
      const seen: Verdict[] = [];
      for (const [outcome, odds] of all) {
        const verdict = verdictOf(outcome, seen.length + 1, { random: odds, scale: 1 });
        seen.push(verdict);
        if (verdict.kind !== 'retry') break;
      }
      const end = all.findIndex(([{ ok, statusCode }]) => ok || statusCode === 410);
      const [decisive] = all[end] ?? [];
      const expected = decisive ? (decisive.ok ? 'delivered' : 'gone') : 'failed';
      expect([seen.length, seen.at(-1)?.kind]).toEqual([end === -1 ? TRIES : end + 1, expected]);
    }),
    { numRuns: 2_000 },
  );
});

test('every pause is the scheduled one within a fifth, or longer because the receiver asked, and never above a day and a fifth', () => {
  assert(
    property(outcomes, integer({ min: 1, max: TRIES - 1 }), random, (outcome, tries, odds) => {
      const verdict = verdictOf(outcome, tries, { random: odds, scale: 1 });
      if (verdict.kind !== 'retry') return;
      const pause = PAUSES_MS[tries - 1] ?? 0;
      const asked = [429, 503].includes(outcome.statusCode ?? 0) ? Math.min(outcome.retryAfterMs ?? 0, DAY) : 0;
      expect(verdict.waitMs).toBeGreaterThanOrEqual(Math.max(Math.floor(pause * 0.8), asked));
      expect(verdict.waitMs).toBeLessThanOrEqual(Math.max(Math.ceil(pause * 1.2), asked));
    }),
    { numRuns: 2_000 },
  );
});

test('the whole schedule spans about 75 hours', () => {
  const total = PAUSES_MS.reduce((sum, pause) => sum + pause, 0);
  expect(total / HOUR).toBeGreaterThan(75);
  expect(total / HOUR).toBeLessThan(76);
});

interface Model {
  now: number;
  isActive: boolean;
  failingSince: Date | null;
  failures: number;
  stages: number[];
  /** Every event ever published, by what became of it. */
  events: Map<number, { status: 'pending' | 'delivered' | 'failed' | 'skipped'; tries: number; dueAt: number }>;
  receiver: Outcome;
}

type Command = (model: Model) => void;

const healthy = (model: Model): void => {
  model.failingSince = null;
  model.failures = 0;
  model.stages = [];
};

function attempt(model: Model, event: { status: string; tries: number; dueAt: number }): void {
  if (!model.isActive) {
    event.status = 'skipped';
    return;
  }
  event.tries += 1;
  const verdict = verdictOf(model.receiver, event.tries, { random: 0.5, scale: 1 });
  if (verdict.kind === 'delivered') {
    event.status = 'delivered';
    healthy(model);
    return;
  }
  model.failingSince ??= new Date(model.now);
  model.failures += 1;
  const stage = stageOf(model, new Date(model.now));
  if (stage > (model.stages.at(-1) ?? 0)) model.stages.push(stage);
  if (stage === 100 || verdict.kind === 'gone') model.isActive = false;
  if (verdict.kind === 'retry') event.dueAt = model.now + verdict.waitMs;
  else event.status = 'failed';
}

const publish: Command = (model) => {
  const event = { status: 'pending' as const, tries: 0, dueAt: model.now };
  model.events.set(model.events.size, event);
  attempt(model, event);
};
const pass =
  (hours: number): Command =>
  (model) => {
    model.now += hours * HOUR;
    for (const event of model.events.values())
      if (event.status === 'pending' && event.dueAt <= model.now) attempt(model, event);
  };
const become =
  (receiver: Outcome): Command =>
  (model) => {
    model.receiver = receiver;
  };
const enable: Command = (model) => {
  model.isActive = true;
  healthy(model);
};
const replay: Command = (model) => {
  if (!model.isActive) return;
  for (const event of model.events.values()) {
    if (event.status !== 'failed' && event.status !== 'skipped') continue;
    Object.assign(event, { status: 'pending', tries: 0, dueAt: model.now });
    attempt(model, event);
  }
};

const commands = array(
  oneof(
    { weight: 4, arbitrary: constant(publish) },
    { weight: 4, arbitrary: integer({ min: 1, max: 40 }).map(pass) },
    { weight: 2, arbitrary: outcomes.map(become) },
    { weight: 1, arbitrary: constant(enable) },
    { weight: 1, arbitrary: constant(replay) },
  ),
  { maxLength: 120 },
);

test('nothing is ever lost: a receiver that works again gets every event by enable, replay and time', () => {
  assert(
    property(commands, (all) => {
      const model: Model = {
        now: Date.parse('2026-11-20T00:00:00Z'),
        isActive: true,
        failingSince: null,
        failures: 0,
        stages: [],
        events: new Map(),
        receiver: { ok: true, statusCode: 200, retryAfterMs: null },
      };
      for (const command of all) {
        command(model);
        const stage = stageOf(model, new Date(model.now));
        if (model.isActive && model.failures > 0) {
          // An active endpoint has not failed both for so long and so often at its latest failure.
          expect(model.stages.includes(100)).toBe(false);
        }
        expect(stage === 0 || model.failingSince !== null).toBe(true);
        expect(model.stages).toEqual(model.stages.toSorted((one, other) => one - other));
      }
      become({ ok: true, statusCode: 200, retryAfterMs: null })(model);
      enable(model);
      pass(30)(model);
      replay(model);
      expect([...model.events.values()].filter(({ status }) => status !== 'delivered')).toEqual([]);
    }),
    { numRuns: 500 },
  );
});

test.each([
  [0, 100, 0],
  [2.5, 9, 0],
  [2.5, 10, 50],
  [3.75, 15, 75],
  [4.99, 100, 75],
  [5, 19, 75],
  [5, 20, 100],
  [50, 1, 0],
])('%s days with %s failures are %s per cent of the way', (days, failures, stage) => {
  const now = new Date();
  expect(stageOf({ failingSince: new Date(now.getTime() - days * DAY), failures }, now)).toBe(stage);
});

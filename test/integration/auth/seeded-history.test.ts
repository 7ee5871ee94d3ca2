/** The month of history in the demo org: its lists, logs and figures tell the same story. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seedDemo } from '../../../scripts/seed';
import { approvals, type ApprovalRecord } from '../../../src/store/approvals';
import { events, type EventRecord } from '../../../src/store/events';
import { executions, type ExecutionRecord } from '../../../src/store/executions';
import { openTestStore, type TestStore } from './support';

const ORG = { org_id: 'org_demo' };

/** Rows in whatever order. */
const unordered = (rows: unknown[]): Set<string> => new Set(rows.map((row) => JSON.stringify(row)));

let store: TestStore;
let folder: string;
let runs: ExecutionRecord[];

beforeAll(async () => {
  store = await openTestStore();
  folder = mkdtempSync(join(tmpdir(), 'signalbox-history-'));
  const keysFile = join(folder, 'keys.json');
  await seedDemo({ mongodbUri: store.uri, env: { SIGNALBOX_MODE: 'development' }, keysFile });
  runs = await executions.in(store).find<ExecutionRecord>(ORG).lean();
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await store.close();
});

test('no step begins before the one in front of it has ended, nor ends after its run', () => {
  expect(runs).toHaveLength(60);
  for (const { steps, created_at: created, completed_at: completed } of runs) {
    const moments = [created, ...steps.flatMap((step) => [step.started_at, step.completed_at]), completed];
    const times = moments.map((moment) => Number(moment));
    expect(times).toEqual([...times].sort((a, b) => a - b));
  }
});

test('the gate of each run is in the list of approvals, decided as its trace says', async () => {
  const asked = await approvals.in(store).find<ApprovalRecord>(ORG).lean();
  const told = asked.map(({ execution_id: id, status, decided_by: by, decided_at: at }) => [id, status, by, at]);
  const traced = runs.map(({ _id: id, steps }) => {
    const { decision, decided_by: by, decided_at: at } = (steps[1]?.output ?? {}) as Record<string, string>;
    return [id, decision, by, new Date(at ?? '')];
  });
  expect(unordered(told)).toEqual(unordered(traced));
});

test('the event of each run is in the log, with the run as its outcome', async () => {
  const logged = await events.in(store).find<EventRecord>(ORG).lean();
  const started = logged.flatMap(({ event_id: id, outcomes }) =>
    outcomes.flatMap(({ execution_id: run }) => (run ? [[id, run]] : [])),
  );
  expect(unordered(started)).toEqual(unordered(runs.map(({ _id: run, trigger_event: event }) => [event.id, run])));
  expect(logged.every(({ opening }) => !opening)).toBe(true);
});

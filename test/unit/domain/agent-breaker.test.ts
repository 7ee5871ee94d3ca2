import { faultOf, type EndedRun } from '../../../src/domain/agent-breaker';

const NOW = new Date('2026-11-20T12:00:00.000Z');
const MINUTE = 60_000;

let made = 0;
const ended = (outcome: Partial<EndedRun>, minutesAgo = 1): EndedRun => ({
  _id: `exe_${(made += 1)}`,
  status: 'completed',
  status_reason: null,
  error: null,
  created_at: new Date(NOW.getTime() - minutesAgo * MINUTE),
  ...outcome,
});
const failed = (code = 'rejected', minutesAgo = 1, more: Partial<EndedRun> = {}): EndedRun =>
  ended({ status: 'failed', status_reason: 'step_failed', error: { code, message: 'No.' }, ...more }, minutesAgo);
const times = (count: number, make: () => EndedRun): EndedRun[] => Array.from({ length: count }, make);

test('five failed runs in a row stop an agent, however long ago they were', () => {
  const runs = [
    failed('invalid_output', 1),
    ...times(3, () => failed('rejected', 100)),
    failed('auth', 4_000),
    ended({}),
  ];
  const fault = faultOf(runs, NOW);
  expect(fault).toMatchObject({ code: 'runs_failed_in_a_row', executionIds: runs.slice(0, 5).map(({ _id }) => _id) });
  expect(fault?.message).toBe('The last 5 runs failed; the newest with invalid_output.');
  expect(fault?.since).toEqual(runs[4]?.created_at);
});

test.each([
  ['four in a row', [...times(4, failed), ended({}), failed()]],
  ['five with one that succeeded between them', [failed(), failed(), ended({}), failed(), failed(), failed()]],
  ['no runs at all', []],
])('%s do not', (_name, runs) => {
  expect(faultOf(runs, NOW)).toBeNull();
});

test.each([
  ['nobody decided', { status_reason: 'approval_expired' as const }],
  ['there were no credits', { status_reason: 'credit_insufficient' as const }],
  ['an operator ended them', { status_reason: 'terminated_by_operator' as const }],
])('runs that failed because %s do not count, in either direction', (_name, more) => {
  const excused = () => failed('whatever', 1, more);
  expect(faultOf(times(30, excused), NOW)).toBeNull();
  expect(faultOf([failed(), excused(), failed(), failed(), excused(), failed(), failed()], NOW)?.code).toBe(
    'runs_failed_in_a_row',
  );
});

test.each(['rate_limited', 'server_error', 'network', 'timeout'])('an outage (%s) is not the agent’s fault', (code) => {
  expect(
    faultOf(
      times(30, () => failed(code)),
      NOW,
    ),
  ).toBeNull();
});

describe('of twenty runs within an hour', () => {
  const mixed = (failures: number, runs: number, minutesAgo = 30): EndedRun[] =>
    Array.from({ length: runs }, (_, index) =>
      // Never two failures in a row as long as half of the runs succeed.
      index % 2 === 0 && index / 2 < failures ? failed('rejected', minutesAgo) : ended({}, minutesAgo),
    );

  test('half of them failed: it is stopped', () => {
    const fault = faultOf(mixed(10, 20), NOW);
    expect(fault).toMatchObject({
      code: 'runs_failed_often',
      message: '10 of 20 runs of the last hour failed; the newest with rejected.',
    });
    expect(fault?.executionIds).toHaveLength(10);
  });

  test.each([
    ['fewer failed', mixed(9, 20)],
    ['there were nineteen', mixed(10, 19)],
    ['they are older', mixed(10, 20, 61)],
  ])('it goes on where %s', (_name, runs) => {
    expect(faultOf(runs, NOW)).toBeNull();
  });
});

import type { Step } from '../../../src/contracts/step';
import { flattenSteps, planOf } from '../../../src/domain/plan';

const note = (id: string): Step => ({ type: 'set_variables', id, values: { seen: true } });
const steps: Step[] = [
  {
    type: 'ai_reason',
    id: 'triage',
    prompt: 'Sort this',
    timeout: '2m',
    retry: { max_attempts: 3, initial: '1s', max: '1m' },
  },
  {
    type: 'branch',
    id: 'route',
    branches: [
      {
        name: 'urgent',
        when: { field: 'event_payload.priority', operator: 'eq', value: 'critical' },
        steps: [{ type: 'approval_gate', id: 'ok', message: 'Page?', expires_in: '30m' }, note('paged')],
      },
      { name: 'known', when: { field: 'steps.triage.output.label', operator: 'exists' }, steps: [note('labelled')] },
    ],
    else: [{ type: 'delay', id: 'wait', for: '1h', on_error: 'continue' }],
  },
  { ...note('last'), when: { field: 'event_payload.status', operator: 'changed_from', value: 'new' } },
];

test('records stand in the order of the definition: a branch before its arms, else last', () => {
  expect(planOf({ steps }).slots.map(({ path, step }) => `${path} ${step.id}`)).toEqual([
    '0 triage',
    '1 route',
    '1/urgent/0 ok',
    '1/urgent/1 paged',
    '1/known/0 labelled',
    '1/else/0 wait',
    '2 last',
  ]);
  expect(flattenSteps(steps)).toEqual(planOf({ steps }).slots);
});

test('every planned step points at its own record', () => {
  const { steps: planned, slots } = planOf({ steps });
  const all = planned.flatMap(function walk(step): typeof planned {
    return [
      step,
      ...(step.branches ?? []).flatMap((arm) => arm.steps.flatMap(walk)),
      ...(step.else ?? []).flatMap(walk),
    ];
  });
  expect(all.map(({ slot, path, id }) => [slot, path, id])).toEqual(
    slots.map(({ path, step }, slot) => [slot, path, step.id]),
  );
  expect(all.map(({ label }) => label)[2]).toBe('3/7 approval_gate ok');
});

test('times are in milliseconds and only where the step names or needs them', () => {
  const [triage, route, last] = planOf({ steps }).steps;
  expect(triage).toEqual({
    slot: 0,
    path: '0',
    id: 'triage',
    type: 'ai_reason',
    label: '1/7 ai_reason triage',
    on_error: 'fail',
    timeout_ms: 120_000,
    retry: { max_attempts: 3, initial_ms: 1_000, max_ms: 60_000 },
  });
  expect(route?.branches?.[0]?.steps[0]?.duration_ms).toBe(1_800_000);
  expect(route?.else?.[0]).toMatchObject({ duration_ms: 3_600_000, on_error: 'continue' });
  expect(last).not.toHaveProperty('duration_ms');
});

test('a gate waits a day unless its step says otherwise', () => {
  const plan = planOf({ steps: [{ type: 'approval_gate', id: 'ok', message: 'Go?' }] });
  expect(plan.steps[0]?.duration_ms).toBe(86_400_000);
});

test('asked names each path of when and branch rules once, change envelope included', () => {
  expect(
    planOf({ steps: [...steps, { ...note('again'), when: { field: 'event_payload.priority', operator: 'exists' } }] })
      .asked,
  ).toEqual([
    'event_payload.priority',
    'steps.triage.output.label',
    'event_payload.changed',
    'event_payload.previous.status',
  ]);
});

test('the plan carries no text of the steps', () => {
  expect(JSON.stringify(planOf({ steps }).steps)).not.toMatch(/Sort this|Page\?/);
});

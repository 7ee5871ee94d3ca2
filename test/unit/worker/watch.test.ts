import type { Workflow, WorkflowCreateOptions, WorkflowCreator } from '@temporalio/worker/lib/workflow/interface';
import { createLook, type Watch } from '../../../worker/watch';
import { watched } from '../../../worker/workflow-context';

/** A pulse that beats when it is told to, and what looking at it told. */
function stage() {
  let beats = 0;
  const told: string[] = [];
  const look = createLook(
    () => beats,
    () => told.push('standstill'),
  );
  const looks = (times: number): void => {
    for (let time = 0; time < times; time += 1) look();
  };
  return { told, looks, beat: () => (beats += 1) };
}

test('ten looks without a beat are a standstill, which is told once', () => {
  const { told, looks } = stage();
  looks(9);
  expect(told).toEqual([]);
  looks(1);
  expect(told).toEqual(['standstill']);
  looks(60);
  expect(told).toEqual(['standstill']);
});

test('whatever beats now and then goes on, and looks before a beat do not count after it', () => {
  const { told, looks, beat } = stage();
  for (let round = 0; round < 20; round += 1) {
    looks(9);
    beat();
  }
  looks(10);
  expect(told).toEqual([]);
  looks(1);
  expect(told).toEqual(['standstill']);
});

/** Notes which workflow is at work. */
function noting() {
  const notes: string[] = [];
  const watch: Watch = {
    during(workflowId, call) {
      notes.push(`${workflowId} begins`);
      try {
        return call();
      } finally {
        notes.push(`${workflowId} is done`);
      }
    },
    stop: async () => void notes.push('stopped'),
  };
  return { notes, watch };
}

test('a workflow is at work while it is called, and not while others wait for its answer', async () => {
  const { notes, watch } = noting();
  const workflow = {
    activate: async () => {
      notes.push('it works');
      await Promise.resolve();
      notes.push('it answers');
    },
  } as unknown as Workflow;
  const creator: WorkflowCreator = {
    createWorkflow: async () => workflow,
    destroy: async () => void notes.push('destroyed'),
  };
  const watching = watched(creator, watch);
  const created = await watching.createWorkflow({ info: { workflowId: 'exec_1' } } as WorkflowCreateOptions);
  await created.activate({});
  await watching.destroy();
  expect(notes).toEqual([
    'exec_1 begins',
    'exec_1 is done',
    'exec_1 begins',
    'it works',
    'exec_1 is done',
    'it answers',
    'stopped',
    'destroyed',
  ]);
});

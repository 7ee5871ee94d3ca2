import type { Workflow, WorkflowCreateOptions, WorkflowCreator } from '@temporalio/worker/lib/workflow/interface';
import { watched } from '../../../worker/workflow-threads';

const SECONDS = 1_000;

/** Workflows that answer when they are told to. */
function stage() {
  const answers: (() => void)[] = [];
  const stuck: string[] = [];
  const workflow = {
    activate: () => new Promise((resolve) => answers.push(() => resolve({}))),
    getAndResetSinkCalls: async () => [],
    dispose: async () => undefined,
  } as Workflow;
  const creator: WorkflowCreator = { createWorkflow: async () => workflow, destroy: async () => undefined };
  const watching = watched(creator, (workflowId) => stuck.push(workflowId));
  const create = (workflowId: string): Promise<Workflow> =>
    watching.createWorkflow({ info: { workflowId } } as WorkflowCreateOptions);
  return { answers, stuck, watching, create };
}

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

test('the workflow that has held up the others for ten seconds is told once, and none that came back', async () => {
  const { answers, stuck, create } = stage();
  const first = (await create('exec_first')).activate({});
  void (await create('exec_second')).activate({});
  await jest.advanceTimersByTimeAsync(9 * SECONDS);
  answers[0]?.();
  await first;
  void (await create('exec_third')).activate({});
  await jest.advanceTimersByTimeAsync(10 * SECONDS);
  expect(stuck).toEqual([]);
  await jest.advanceTimersByTimeAsync(SECONDS);
  expect(stuck).toEqual(['exec_second']);
  await jest.advanceTimersByTimeAsync(60 * SECONDS);
  expect(stuck).toEqual(['exec_second']);
});

test('many that take turns are none that is stuck, and a machine that stood still counts once', async () => {
  const { answers, stuck, create } = stage();
  const workflow = await create('exec_busy');
  for (let turn = 0; turn < 40; turn += 1) {
    const call = workflow.activate({});
    await jest.advanceTimersByTimeAsync(SECONDS);
    answers.shift()?.();
    await call;
  }
  void workflow.activate({});
  await jest.advanceTimersByTimeAsync(2 * SECONDS);
  jest.setSystemTime(Date.now() + 3_600 * SECONDS);
  await jest.advanceTimersByTimeAsync(2 * SECONDS);
  expect(stuck).toEqual([]);
});

test('one that fails is not under way any more, and nothing is looked at when all is over', async () => {
  const stuck: string[] = [];
  const exited = (): Promise<never> => Promise.reject(new Error('thread exited'));
  const failing: Workflow = { activate: exited, getAndResetSinkCalls: exited, dispose: exited };
  const creator: WorkflowCreator = { createWorkflow: async () => failing, destroy: async () => undefined };
  const watching = watched(creator, (workflowId) => stuck.push(workflowId));
  const workflow = await watching.createWorkflow({ info: { workflowId: 'exec_1' } } as WorkflowCreateOptions);
  await expect(workflow.activate({})).rejects.toThrow('thread exited');
  await jest.advanceTimersByTimeAsync(20 * SECONDS);
  await watching.destroy();
  expect([stuck, jest.getTimerCount()]).toEqual([[], 0]);
});

test('what a workflow logged is asked for with its activation, and handed over once', async () => {
  const asked: string[] = [];
  let answer: (completion: object) => void = () => undefined;
  const workflow = {
    activate: () => {
      asked.push('activation');
      return new Promise((resolve) => (answer = resolve));
    },
    getAndResetSinkCalls: () => {
      asked.push('log');
      return Promise.resolve([`line ${asked.length}`]);
    },
    dispose: async () => undefined,
  } as unknown as Workflow;
  const watching = watched({ createWorkflow: async () => workflow, destroy: async () => undefined }, () => undefined);
  const created = await watching.createWorkflow({ info: { workflowId: 'exec_1' } } as WorkflowCreateOptions);
  const activation = created.activate({});
  expect(asked).toEqual(['activation', 'log']);
  answer({});
  await activation;
  expect(await created.getAndResetSinkCalls()).toEqual(['line 2']);
  expect(await created.getAndResetSinkCalls()).toEqual(['line 3']);
  await watching.destroy();
});

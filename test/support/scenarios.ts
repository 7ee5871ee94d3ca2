/** The ways an execution can go: run by the scenario tests, and recorded as the histories that replay guards. */
import type { AgentDefinition } from '../../src/contracts/agent';
import { list, text, waitFor, waitForExecution, type Body, type Harness, type TestOrg } from './harness';
import { fire } from './agents';
import { storedAgent } from './records';
import { APPROVAL_DECISION, workflowIdOf } from '../../src/contracts/messages';
import type { Engine } from '../../src/engine/connect';

type Steps = AgentDefinition['steps'];

export interface Stage {
  harness: Harness;
  engine: Engine;
  org: TestOrg;
  executionId: string;
  /** Waits for the gate and answers its approval. */
  gate: () => Promise<Body>;
  decide(decision: 'approved' | 'denied'): Promise<void>;
  signal(...args: unknown[]): Promise<void>;
}

export interface Scenario {
  name: string;
  steps: Steps;
  payload?: Record<string, unknown>;
  act?: (stage: Stage) => Promise<void>;
  /** Status, status reason and the statuses of the step records. */
  ends: { status: string; reason: string | null; steps: string[] };
}

const vars = (id: string) => ({ type: 'set_variables' as const, id, values: { [id]: '{{event_payload.name}}' } });
const gate = (expiresIn = '1h') => ({
  type: 'approval_gate' as const,
  id: 'gate',
  message: 'Go on?',
  expires_in: expiresIn,
});
const mail = {
  type: 'notification' as const,
  id: 'mail',
  channel: 'email' as const,
  recipients: ['scenario@example.com'],
  body: 'Hello {{event_payload.name}}',
};
const think = {
  type: 'ai_reason' as const,
  id: 'think',
  tier: 'quick' as const,
  prompt: 'Summarise {{event_payload.name}}',
};
const refusedCall = {
  type: 'http_request' as const,
  id: 'call',
  url: 'http://10.255.255.1/',
  retry: { max_attempts: 1 },
};
const rule = (field: string, value: unknown) => ({ field, operator: 'eq' as const, value });

const completed = (steps: string[]) => ({ status: 'completed', reason: null, steps });
const cancelWorkflow = async ({ engine, executionId, gate: opened }: Stage): Promise<void> => {
  await opened();
  await engine.client.workflow.getHandle(workflowIdOf(executionId)).cancel();
};

export const SCENARIOS: Scenario[] = [
  { name: 'linear', steps: [vars('one'), think, mail], ends: completed(['completed', 'completed', 'completed']) },
  {
    name: 'gate-approved',
    steps: [gate(), mail],
    act: (stage) => stage.decide('approved'),
    ends: completed(['completed', 'completed']),
  },
  {
    name: 'gate-denied',
    steps: [gate(), mail],
    act: (stage) => stage.decide('denied'),
    ends: { status: 'cancelled', reason: 'approval_denied', steps: ['completed', 'skipped'] },
  },
  {
    name: 'gate-expired',
    steps: [gate('1s'), mail],
    ends: { status: 'failed', reason: 'approval_expired', steps: ['failed', 'skipped'] },
  },
  {
    name: 'gate-decided-by-signal',
    steps: [gate(), vars('after')],
    act: async (stage) => {
      const opened = await stage.gate();
      await stage.signal({ approval_id: text(opened['id']), decision: 'approved', note: 'from the Web UI' });
    },
    ends: completed(['completed', 'completed']),
  },
  {
    name: 'malformed-signals-then-approved',
    steps: [gate(), vars('after')],
    act: async (stage) => {
      await stage.gate();
      for (const junk of [
        [],
        [null],
        ['approved'],
        [{ decision: 'perhaps' }],
        [{ approval_id: 7, decision: {} }],
        [{ approval_id: 'apr_other', decision: 'denied' }],
      ]) {
        await stage.signal(...junk);
      }
      await stage.decide('approved');
    },
    ends: completed(['completed', 'completed']),
  },
  {
    name: 'cancelled-by-the-api',
    steps: [gate(), mail],
    act: async (stage) => {
      await stage.gate();
      await stage.org.call('POST', `/agents/api/executions/${stage.executionId}/cancel`);
    },
    ends: { status: 'cancelled', reason: 'cancelled_by_user', steps: ['skipped', 'skipped'] },
  },
  {
    name: 'cancelled-in-the-engine',
    steps: [gate(), mail],
    act: cancelWorkflow,
    ends: { status: 'cancelled', reason: 'cancelled_by_user', steps: ['completed', 'skipped'] },
  },
  {
    name: 'step-failed',
    steps: [vars('one'), refusedCall, mail],
    ends: { status: 'failed', reason: 'step_failed', steps: ['completed', 'failed', 'skipped'] },
  },
  {
    name: 'step-failed-and-continued',
    steps: [{ ...refusedCall, on_error: 'continue' }, vars('after')],
    ends: completed(['failed', 'completed']),
  },
  {
    name: 'branch-and-delay',
    payload: { name: 'Ada', priority: 'high' },
    steps: [
      {
        type: 'branch',
        id: 'choose',
        branches: [
          { name: 'urgent', when: rule('event_payload.priority', 'high'), steps: [vars('urgent')] },
          { name: 'calm', when: rule('event_payload.priority', 'low'), steps: [vars('calm')] },
        ],
        else: [vars('other')],
      },
      { type: 'delay', id: 'pause', for: '1s' },
      { ...vars('last'), when: rule('steps.choose.output.taken', 'urgent') },
      { ...mail, when: rule('vars.urgent', 'nobody') },
    ],
    ends: completed(['completed', 'completed', 'skipped', 'skipped', 'completed', 'completed', 'skipped']),
  },
];

/** Runs one scenario to its end; answers the execution's record. */
export async function playScenario(scenario: Scenario, harness: Harness, engine: Engine): Promise<Body> {
  const org = await harness.newOrg();
  await storedAgent(harness.store, org.id, scenario.steps);
  const [executionId = ''] = await fire(org, scenario.payload ?? { name: 'Ada' });
  const approval = () =>
    waitFor(
      async () =>
        list((await org.call('GET', `/agents/api/approvals?execution_id=${executionId}`)).body['approvals'])[0],
      { what: 'the gate' },
    );
  const stage: Stage = {
    harness,
    engine,
    org,
    executionId,
    gate: async () => {
      await waitForExecution(org, executionId, ['waiting_approval']);
      return approval();
    },
    async decide(decision) {
      const opened = await stage.gate();
      await org.call('POST', `/agents/api/approvals/${text(opened['id'])}/decision`, { decision });
    },
    signal: (...args) => engine.client.workflow.getHandle(workflowIdOf(executionId)).signal(APPROVAL_DECISION, ...args),
  };
  await scenario.act?.(stage);
  return waitForExecution(org, executionId, ['completed', 'failed', 'cancelled'], 30_000);
}

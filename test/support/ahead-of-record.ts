/** Workflows that run before the record of their execution is written. */
import type { AgentDefinition } from '../../src/contracts/agent';
import { workflowInput } from '../../src/domain/execution';
import type { Engine } from '../../src/engine/connect';
import { startExecution } from '../../src/engine/executions';
import type { ExecutionRecord } from '../../src/store/executions';
import type { Harness, TestOrg } from './harness';
import { storedAgent, unopenedRecord } from './records';

/** The start arrives, in an org of its own; whoever sent it has yet to write the record, or is dead. */
export async function startedAhead(
  { harness, engine }: { harness: Harness; engine: Engine },
  steps: AgentDefinition['steps'],
): Promise<{ org: TestOrg; record: ExecutionRecord }> {
  const org = await harness.newOrg();
  const agentId = await storedAgent(harness.store, org.id, steps);
  const now = new Date();
  const record = await unopenedRecord(harness.store, { orgId: org.id, agentId, now, payload: { name: 'Ada' } });
  const input = workflowInput(record, { id: org.id, tier: 'standard', name: 'Test org' });
  await startExecution(engine, input, 'http://127.0.0.1');
  return { org, record };
}

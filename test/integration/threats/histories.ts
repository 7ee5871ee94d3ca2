/** What the engine keeps of an execution, as those read it who can read the engine. */
import { readConfig } from '../../../src/config';
import { workflowIdOf } from '../../../src/contracts/messages';
import { connectEngine } from '../../../src/engine/connect';
import type { StackAddress } from '../../support/shared-stack';

/** The history as text, without a payload key; what workflow and activities were given and answered is in base64 there. */
export async function historyOf({ env }: Pick<StackAddress, 'env'>, execution: string): Promise<string> {
  const engine = connectEngine(readConfig({ ...env, TEMPORAL_PAYLOAD_KEY: '' }).temporal);
  try {
    const { client } = engine;
    const history = JSON.stringify(await client.workflow.getHandle(workflowIdOf(execution)).fetchHistory());
    const payloads = [...history.matchAll(/"data":"([^"]+)"/g)].map(([, data = '']) => Buffer.from(data, 'base64'));
    return [history, ...payloads.map(String)].join('\n');
  } finally {
    await engine.close();
  }
}

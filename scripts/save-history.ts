/** Records the history of every scenario for the replay test. Never record in the change that edits workflow code. */
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readConfig } from '../src/config';
import { workflowIdOf } from '../src/contracts/messages';
import { connectEngine } from '../src/engine/connect';
import { joinStack } from '../test/support/harness';
import { playScenario, SCENARIOS } from '../test/support/scenarios';
import { startStack } from '../test/support/stack';

const FOLDER = resolve(__dirname, '../test/workflow/histories');

/** Recording while workflow code is changed would make every change look safe. */
function refuseDirtyWorkflows(): void {
  const changed = execFileSync('git', ['status', '--porcelain', 'workflows'], { encoding: 'utf8' });
  if (changed.trim() && !process.argv.includes('--first'))
    throw new Error(`Commit or undo the changes below workflows/ first:\n${changed}`);
}

async function main(): Promise<void> {
  refuseDirtyWorkflows();
  mkdirSync(FOLDER, { recursive: true });
  const stack = await startStack();
  const harness = joinStack(stack);
  const engine = connectEngine(readConfig(stack.env).temporal);
  try {
    for (const scenario of SCENARIOS) {
      const execution = await playScenario(scenario, harness, engine);
      const handle = engine.client.workflow.getHandle(workflowIdOf(execution['id'] as unknown as string));
      await handle.result().catch(() => undefined);
      writeFileSync(join(FOLDER, `${scenario.name}.json`), `${historyToJSON(await handle.fetchHistory())}\n`);
      console.log(`recorded ${scenario.name}`);
    }
  } finally {
    await engine.close();
    await harness.close();
    await stack.stop();
  }
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);

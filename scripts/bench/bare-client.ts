/** A client without product code: starts bare workflows and waits for their results. Runs in a process of its own. */
import { Client, Connection } from '@temporalio/client';
import { randomUUID } from 'node:crypto';
import { readConfig } from '../../src/config';
import { answerQuestions } from './child';
import { GATE_REST_MS, inLanes, pause, type BareRound, type BareShape, type Played } from './lanes';

const { temporal } = readConfig();

async function runGated(client: Client): Promise<number> {
  const options = { taskQueue: temporal.taskQueue, workflowId: `bare_${randomUUID()}`, args: [] };
  const workflow = await client.workflow.start('gated', options);
  await pause(GATE_REST_MS);
  const startedAt = performance.now();
  await workflow.signal('go');
  await workflow.result();
  return performance.now() - startedAt;
}

async function runOnce(client: Client, shape: BareShape): Promise<number> {
  if (shape === 'gated') return runGated(client);
  const startedAt = performance.now();
  const options = { taskQueue: temporal.taskQueue, workflowId: `bare_${randomUUID()}`, args: [] };
  await client.workflow.execute(shape, options);
  return performance.now() - startedAt;
}

async function main(): Promise<void> {
  const connection = await Connection.connect({ address: temporal.address });
  const client = new Client({ connection, namespace: temporal.namespace });
  answerQuestions((question): Promise<Played> => {
    const { shape, runs, concurrency } = question as BareRound;
    return inLanes({ runs, concurrency }, () => runOnce(client, shape));
  });
  process.stdout.write('bare client ready\n');
}

main().catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exit(1);
});

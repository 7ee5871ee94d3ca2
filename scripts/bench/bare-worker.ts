/** A worker without product code, created as the product creates its own. Runs in a process of its own. */
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { readConfig } from '../../src/config';
import { createBareCalls } from './bare-calls';
import { answerQuestions } from './child';
import { OUTSIDE_ADDRESSES, type OutsideAddresses } from './messages';

async function main(): Promise<void> {
  const { temporal } = readConfig();
  const outside = JSON.parse(process.env[OUTSIDE_ADDRESSES] ?? '') as OutsideAddresses;
  Runtime.install({
    telemetryOptions: { logging: { forward: {}, filter: { core: 'WARN', other: 'ERROR' } } },
    shutdownSignals: [],
  });
  const connection = await NativeConnection.connect({ address: temporal.address });
  const worker = await Worker.create({
    connection,
    namespace: temporal.namespace,
    taskQueue: temporal.taskQueue,
    workflowBundle: { codePath: temporal.workflowBundle },
    activities: { nothing: () => Promise.resolve(), ...createBareCalls(outside) },
    maxConcurrentActivityTaskExecutions: temporal.activitySlots,
    maxConcurrentLocalActivityExecutions: 200,
    maxCachedWorkflows: temporal.cachedWorkflows,
  });
  answerQuestions(() => Promise.resolve(null));
  process.once('SIGTERM', () => worker.shutdown());
  process.stdout.write('bare worker ready\n');
  await worker.run();
  await connection.close();
  process.exit(0);
}

main().catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exit(1);
});

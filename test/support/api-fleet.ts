/** Several api processes of one deployment, and what a client does with them. */
import { readConfig } from '../../src/config';
import type { Context } from '../../src/context';
import { testContext } from '../integration/auth/support';
import { joinStack, request, type Answer, type Harness } from './harness';
import type { StackAddress } from './shared-stack';
import { startApi, startStack } from './stack';
import type { ProductProcess } from './processes';

export interface ApiProcess extends StackAddress {
  api: ProductProcess;
}

export interface Fleet {
  apis: readonly ApiProcess[];
  /** The store they share. */
  harness: Harness;
  /** As the processes have it, for what is put into the store beside them. */
  context: Context;
  stop(): Promise<void>;
}

/** Starts a store, an engine and `count` api processes on them. */
export async function startFleet(count: number): Promise<Fleet> {
  const stack = await startStack({ only: 'api' });
  const more = await Promise.all(Array.from({ length: count - 1 }, () => startApi(stack)));
  const harness = joinStack(stack);
  return {
    apis: [stack, ...more],
    harness,
    context: testContext(harness.store, { config: readConfig(stack.env) }),
    async stop() {
      await harness.close();
      await Promise.all(more.map(({ api }) => api.stop()));
      await stack.stop();
    },
  };
}

type Sent = Omit<Parameters<typeof request>[1], 'method' | 'path'> & { method?: string; path: string };

/** The same request to every process, one after another; answers their statuses. */
export async function statusesOn(fleet: Fleet, sent: Sent): Promise<number[]> {
  const answers: Answer[] = [];
  for (const { baseUrl } of fleet.apis) answers.push(await request(baseUrl, { method: 'GET', ...sent }));
  return answers.map(({ status }) => status);
}

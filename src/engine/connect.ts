/** The Temporal client: one connection per process, and whether the engine can be reached right now. */
import {
  Client,
  Connection,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
  type ConnectionOptions,
} from '@temporalio/client';
import type { Config } from '../config';

const CHANNEL_READY = 2;
const REFUSAL_REMEMBERED_MS = 500;
/** Answers wait for these calls, so they are never waited for long. */
const CALL_TIMEOUT_MS = 2_000;
const TIMED_CALLS =
  /\/(StartWorkflowExecution|SignalWorkflowExecution|RequestCancelWorkflowExecution|TerminateWorkflowExecution|DescribeWorkflowExecution|GetSystemInfo)$/;

type ConnectionMetadata = NonNullable<ConnectionOptions['metadata']>;
type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];

/** Gives calls their deadline. */
const withinTime: Interceptor = (options, nextCall) => {
  const { path } = options.method_definition;
  const isTimed = options.deadline === undefined && TIMED_CALLS.test(path);
  const timed = isTimed ? { ...options, deadline: Date.now() + CALL_TIMEOUT_MS } : options;
  return nextCall(timed) as ReturnType<Interceptor>;
};

export interface Engine {
  readonly client: Client;
  readonly taskQueue: string;
  /** True when the channel is up, or comes up at once. No call is made while it is up. */
  isReachable(): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * Shows whether the channel is up without making a call; the connection itself keeps its channel to itself.
 *
 * And sends calls without an AsyncLocalStorage, in which the client carries deadline and namespace from one function to
 * the next: from its first use on, its hooks slow down every promise of the process.
 */
class ObservedConnection extends Connection {
  /** Called when it connects; the calls have their deadlines from `withinTime`. */
  override async withDeadline<Result>(_deadline: number | Date, call: () => Promise<Result>): Promise<Result> {
    return call();
  }

  /** Called for each call with its namespace, which the connection itself sends with all of them. */
  override async withMetadata<Result>(_namespace: ConnectionMetadata, call: () => Promise<Result>): Promise<Result> {
    return call();
  }

  isUp(): boolean {
    return this.client.getChannel().getConnectivityState(true).valueOf() === CHANNEL_READY;
  }
}

/** Asks the engine once; a refusal is remembered for a moment, so that an outage costs callers one wait and not each. */
function createProbe(connection: ObservedConnection): () => Promise<boolean> {
  let underWay: Promise<boolean> | null = null;
  let refusedAt = -Infinity;
  const ask = async (): Promise<boolean> => {
    try {
      await connection.ensureConnected();
      await connection.workflowService.getSystemInfo({});
      return true;
    } catch {
      refusedAt = performance.now();
      return false;
    } finally {
      underWay = null;
    }
  };
  return () => {
    if (performance.now() - refusedAt < REFUSAL_REMEMBERED_MS) return Promise.resolve(false);
    underWay ??= ask();
    return underWay;
  };
}

/** Connects lazily: an engine that is away fails each call and heals without a restart. */
export function connectEngine(config: Config['temporal']): Engine {
  const connection = ObservedConnection.lazy({
    address: config.address,
    connectTimeout: '2s',
    metadata: { 'temporal-namespace': config.namespace },
    interceptors: [withinTime, makeGrpcRetryInterceptor(defaultGrpcRetryOptions())],
  }) as ObservedConnection;
  const client = new Client({ connection, namespace: config.namespace });
  const probe = createProbe(connection);
  const isUp = (): boolean => {
    try {
      return connection.isUp();
    } catch {
      // The lazy connection has no channel before its first use.
      return false;
    }
  };
  return {
    client,
    taskQueue: config.taskQueue,
    isReachable: async () => isUp() || (await probe()),
    close: () => connection.close(),
  };
}

/** The Temporal client: one connection per process, and whether the engine can be reached right now. */
import {
  Client,
  Connection,
  defaultGrpcRetryOptions,
  isGrpcServiceError,
  makeGrpcRetryInterceptor,
  type ConnectionOptions,
} from '@temporalio/client';
import type { Config } from '../config';
import { payloadCodecsOf } from './payload-codec';

const CHANNEL_READY = 2;
const DEADLINE_EXCEEDED = 4;
const REFUSAL_REMEMBERED_MS = 500;
/** Answers wait for these calls, so they are never waited for long. */
const CALL_TIMEOUT_MS = 2_000;
const TIMED_CALLS =
  /\/(StartWorkflowExecution|SignalWorkflowExecution|RequestCancelWorkflowExecution|TerminateWorkflowExecution|DescribeWorkflowExecution|CreateSchedule|GetSystemInfo)$/;

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
  /** True when the channel is up, or comes up at once. No call is made while it is up and calls are answered. */
  isReachable(): Promise<boolean>;
  /** True when the engine answers a call now. */
  isAnswering(): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * Shows whether the channel is up without making a call; the connection itself keeps its channel to itself.
 *
 * And sends calls without an AsyncLocalStorage, in which the client carries deadline and namespace from one function to
 * the next: from its first use on, its hooks slow down every promise of the process.
 */
class ObservedConnection extends Connection {
  /** A call was not answered in time, and none has been since. The channel of an engine that hangs stays up. */
  #isSilent = false;

  /** Called when it connects; the calls have their deadlines from `withinTime`. */
  override async withDeadline<Result>(_deadline: number | Date, call: () => Promise<Result>): Promise<Result> {
    return call();
  }

  /** Called for each call with its namespace, which the connection itself sends with all of them. */
  override async withMetadata<Result>(_namespace: ConnectionMetadata, call: () => Promise<Result>): Promise<Result> {
    return this.#watched(call);
  }

  /** Asks for what every engine knows. */
  async ask(): Promise<void> {
    // Connecting is tried once; after a failure it is the channel that comes up again by itself.
    if (!this.#isConnected()) await this.ensureConnected();
    await this.#watched(() => this.workflowService.getSystemInfo({}));
    this.#isSilent = false;
  }

  isUp(): boolean {
    return !this.#isSilent && this.#isConnected();
  }

  async #watched<Result>(call: () => Promise<Result>): Promise<Result> {
    try {
      return await call();
    } catch (error) {
      if (isGrpcServiceError(error) && error.code.valueOf() === DEADLINE_EXCEEDED) this.#isSilent = true;
      throw error;
    }
  }

  #isConnected(): boolean {
    try {
      return this.client.getChannel().getConnectivityState(true).valueOf() === CHANNEL_READY;
    } catch {
      // The lazy connection has no channel before its first use.
      return false;
    }
  }
}

/** Asks the engine once; a refusal is remembered for a moment, so that an outage costs callers one wait and not each. */
function createProbe(connection: ObservedConnection): () => Promise<boolean> {
  let underWay: Promise<boolean> | null = null;
  let refusedAt = -Infinity;
  const ask = async (): Promise<boolean> => {
    try {
      await connection.ask();
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
  const { namespace, payloadKeys } = config;
  const client = new Client({ connection, namespace, dataConverter: payloadCodecsOf(payloadKeys) });
  const probe = createProbe(connection);
  return {
    client,
    taskQueue: config.taskQueue,
    isReachable: async () => connection.isUp() || (await probe()),
    isAnswering: probe,
    close: () => connection.close(),
  };
}

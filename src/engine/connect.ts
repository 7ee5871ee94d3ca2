/** The Temporal client: one connection per process, and whether the engine can be reached right now. */
import {
  Client,
  Connection,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
  type ConnectionOptions,
} from '@temporalio/client';
import type { Config } from '../config';
import type { Log } from '../log';
import { heardOf, isDenied, isUnanswered, lacksAttributes, lacksNamespace } from './outages';
import { payloadCodecsOf } from './payload-codec';
import { assertPrepared, UnpreparedError } from './prepared';
import { createProbe, type Telling } from './probe';

const CHANNEL_READY = 2;
/** Answers wait for these calls, so they are never waited for long. */
const CALL_TIMEOUT_MS = 2_000;
const TIMED_CALLS =
  /\/(StartWorkflowExecution|SignalWorkflowExecution|RequestCancelWorkflowExecution|TerminateWorkflowExecution|DescribeWorkflowExecution|CreateSchedule|DescribeNamespace|ListSearchAttributes|GetSystemInfo)$/;

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
  /** True when the channel is up, or comes up at once. No call is made while it is up and calls are taken. */
  isReachable(): Promise<boolean>;
  /** True when it was not reachable a moment ago: for work that can be left to later and waits for nobody. */
  isAway(): boolean;
  /** True when the engine answers a call now, and has the namespace: without it no execution can be started. */
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
  /**
   * A call was not answered in time, or named a namespace that is not there or not prepared, and none has gone well since.
   * The channel to such an engine stays up.
   */
  #isOfNoUse = false;
  /** The namespace had the search attributes, and no call has found that it lacks one since. */
  #isPrepared = false;

  /** Called when it connects; the calls have their deadlines from `withinTime`. */
  override async withDeadline<Result>(_deadline: number | Date, call: () => Promise<Result>): Promise<Result> {
    return call();
  }

  /** Called for each call with its namespace, which the connection itself sends with all of them. */
  override async withMetadata<Result>(_namespace: ConnectionMetadata, call: () => Promise<Result>): Promise<Result> {
    return this.#watched(call);
  }

  /** Asks whether the namespace is there, and has what executions are started with. */
  async ask(namespace: string): Promise<void> {
    // Connecting is tried once; after a failure it is the channel that comes up again by itself.
    if (!this.#isConnected()) await this.ensureConnected();
    await this.workflowService.describeNamespace({ namespace }).catch((error: unknown) => {
      // An engine that tells not everybody has answered all the same.
      if (!isDenied(error)) throw error;
    });
    if (!this.#isPrepared) await this.#watched(() => assertPrepared(this.operatorService, namespace));
    this.#isPrepared = true;
    this.#isOfNoUse = false;
  }

  isUp(): boolean {
    return !this.#isOfNoUse && this.#isConnected();
  }

  async #watched<Result>(call: () => Promise<Result>): Promise<Result> {
    try {
      return await call();
    } catch (error) {
      const isUnprepared = lacksAttributes(error);
      if (isUnprepared) this.#isPrepared = false;
      if (isUnprepared || isUnanswered(error) || lacksNamespace(error)) this.#isOfNoUse = true;
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

/** An outage as the setting that names what is away, and what was heard of it. */
const reasonsFor =
  ({ address, namespace }: Config['temporal']): Telling['reasonOf'] =>
  (error) => {
    if (lacksNamespace(error))
      return {
        kind: 'namespace',
        why: `there is no TEMPORAL_NAMESPACE ${namespace}; make it with: temporal operator namespace create --namespace ${namespace}`,
      };
    if (error instanceof UnpreparedError) return { kind: 'attributes', why: error.message };
    return { kind: 'address', why: `TEMPORAL_ADDRESS ${address}: ${heardOf(error)}` };
  };

/** Connects lazily: an engine that is away fails each call and heals without a restart. Outages are told where there is a log. */
export function connectEngine(config: Config['temporal'], log?: Log): Engine {
  const connection = ObservedConnection.lazy({
    address: config.address,
    connectTimeout: '2s',
    metadata: { 'temporal-namespace': config.namespace },
    interceptors: [withinTime, makeGrpcRetryInterceptor(defaultGrpcRetryOptions())],
  }) as ObservedConnection;
  const { namespace, payloadKeys } = config;
  const client = new Client({ connection, namespace, dataConverter: payloadCodecsOf(payloadKeys) });
  const ask = () => connection.ask(namespace);
  const probe = createProbe(ask, log ? { log, reasonOf: reasonsFor(config) } : null);
  return {
    client,
    taskQueue: config.taskQueue,
    isReachable: async () => connection.isUp() || (await probe.answers()),
    isAway: () => probe.isAway(),
    isAnswering: () => probe.answers(),
    close: () => {
      probe.close();
      return connection.close();
    },
  };
}

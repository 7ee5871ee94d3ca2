/** A client of the product: starts executions through the API and finds out when they have ended. */
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'undici';
import type { Execution } from '../../src/contracts/execution';
import { workflowIdOf } from '../../src/contracts/messages';
import type { Engine } from '../../src/engine/connect';
import { GATE_REST_MS, inLanes, type Load, type Played, type Shape } from './lanes';
import { median } from './figures';
import { agentOf, eventOf, stepsOf, type Caller } from './tenants';

const CONNECTIONS_MAX = 64;
const POLL_MS = 2;
const EXECUTION_MS_MAX = 30_000;
/** Looking begins at this share of what the last executions took by their own record. */
const FIRST_LOOK = 0.95;
const LAST_EXECUTIONS = 20;

/** A decision's way: from when it was sent, and from when it was answered, to the start of the next step. */
export interface Gated {
  fromSentMs: number;
  fromAnsweredMs: number;
}

export interface Product {
  createAgents(httpUrl: string): Promise<void>;
  /** One after another, each until it reads as completed; the next one begins when its workflow has closed, too. */
  single(shape: Shape, runs: number): Promise<Played>;
  /** Many at once, each until its workflow has closed. */
  load(shape: Shape, load: Load): Promise<Played>;
  gate(): Promise<Gated>;
  close(): Promise<void>;
}

export interface ProductParts {
  baseUrl: string;
  engine: Engine;
  callers: readonly Caller[];
}

interface Call {
  method: 'GET' | 'POST' | 'PUT';
  path: string;
  body?: unknown;
}

/** Requests over kept connections, with as little work of its own as can be. */
function createCalls(baseUrl: string) {
  const pool = new Pool(baseUrl, { connections: CONNECTIONS_MAX });
  return {
    async call<Body>(caller: Caller, { method, path, body }: Call): Promise<Body> {
      const reply = await pool.request({
        method,
        path: `/agents/api${path}`,
        headers: caller.headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await reply.body.text();
      if (reply.statusCode >= 300) throw new Error(`${method} ${path} answered ${reply.statusCode}: ${text}`);
      return JSON.parse(text) as Body;
    },
    close: () => pool.close(),
  };
}

const ENDED: readonly string[] = ['completed', 'failed', 'cancelled'];

type Calls = ReturnType<typeof createCalls>;

async function read(calls: Calls, caller: Caller, id: string): Promise<Execution> {
  const execution = await calls.call<Execution>(caller, { method: 'GET', path: `/executions/${id}` });
  if (ENDED.includes(execution.status) && execution.status !== 'completed')
    throw new Error(`execution ${id} is ${execution.status}: ${JSON.stringify(execution.error)}`);
  return execution;
}

/** Looks again and again, with the smallest pause there is. */
async function readUntil(calls: Calls, caller: Caller, at: { id: string; status: string }): Promise<Execution> {
  const until = performance.now() + EXECUTION_MS_MAX;
  while (performance.now() < until) {
    const execution = await read(calls, caller, at.id);
    if (execution.status === at.status) return execution;
    await pause(POLL_MS);
  }
  throw new Error(`execution ${at.id} did not become ${at.status} in time`);
}

async function start(calls: Calls, caller: Caller, shape: Shape): Promise<string> {
  const body = eventOf(shape);
  const answer = await calls.call<{ executions: { id: string }[] }>(caller, {
    method: 'POST',
    path: '/events/ingest',
    body,
  });
  const [execution] = answer.executions;
  if (!execution || answer.executions.length > 1) throw new Error('the event did not start exactly one execution');
  return execution.id;
}

async function createAgents(calls: Calls, callers: readonly Caller[], httpUrl: string): Promise<void> {
  const orgs = new Map(callers.map((caller) => [caller.orgId, caller]));
  for (const caller of orgs.values()) {
    for (const [shape, steps] of Object.entries(stepsOf(httpUrl))) {
      const definition = agentOf(shape as Shape, steps);
      const { id } = await calls.call<{ id: string }>(caller, { method: 'POST', path: '/agents', body: definition });
      await calls.call(caller, { method: 'PUT', path: `/agents/${id}`, body: { status: 'active' } });
    }
  }
}

/**
 * Waits for the workflow as the bare client does, because looking again and again through the API would cost the machine
 * that is measured. A start that the engine did not take in time is made up for by the relay, so it is no error here.
 */
const closed = async (engine: Engine, id: string): Promise<void> => {
  await engine.client.workflow
    .getHandle(workflowIdOf(id))
    .result()
    .catch(() => undefined);
};

/**
 * When the first look at an execution is worth while: shortly before it ends, going by the last ones. From then on every
 * look but the last comes too early, so the moment that is found is never before the true one.
 */
function createFirstLook() {
  const last = new Map<Shape, number[]>();
  return {
    afterMs: (shape: Shape): number => FIRST_LOOK * median(last.get(shape) ?? [0]),
    took: (shape: Shape, milliseconds: number): void => {
      last.set(shape, [...(last.get(shape) ?? []), milliseconds].slice(-LAST_EXECUTIONS));
    },
  };
}

interface Started {
  id: string;
  caller: Caller;
}

/** Every execution reads as completed, and so does every step of its trace. */
async function verifyAll(calls: Calls, started: readonly Started[]): Promise<void> {
  for (const { id, caller } of started) {
    const { steps } = await readUntil(calls, caller, { id, status: 'completed' });
    const open = steps.filter((step) => step.status !== 'completed');
    if (open.length > 0) throw new Error(`execution ${id} is completed, but its steps are not`);
  }
}

async function playGate({ calls, engine }: { calls: Calls; engine: Engine }, caller: Caller): Promise<Gated> {
  const id = await start(calls, caller, 'gated');
  const waiting = await readUntil(calls, caller, { id, status: 'waiting_approval' });
  await pause(GATE_REST_MS);
  const path = `/approvals/${String(waiting.steps[0]?.approval_id)}/decision`;
  const sentAt = Date.now();
  await calls.call(caller, { method: 'POST', path, body: { decision: 'approved' } });
  const answeredAt = Date.now();
  await closed(engine, id);
  const ended = await readUntil(calls, caller, { id, status: 'completed' });
  const startedAt = Date.parse(String(ended.steps[1]?.started_at));
  return { fromSentMs: startedAt - sentAt, fromAnsweredMs: startedAt - answeredAt };
}

/** Builds the client. Keys take turns. */
export function createProduct({ baseUrl, engine, callers }: ProductParts): Product {
  const calls = createCalls(baseUrl);
  let turn = 0;
  const next = (): Caller => {
    turn += 1;
    const caller = callers[turn % callers.length];
    if (!caller) throw new Error('no key to call with');
    return caller;
  };

  const firstLook = createFirstLook();
  async function playSingle(shape: Shape): Promise<number> {
    const caller = next();
    const sentAt = Date.now();
    const startedAt = performance.now();
    const id = await start(calls, caller, shape);
    await pause(Math.max(0, firstLook.afterMs(shape) - (performance.now() - startedAt)));
    const { completed_at: completedAt } = await readUntil(calls, caller, { id, status: 'completed' });
    const took = performance.now() - startedAt;
    firstLook.took(shape, Date.parse(String(completedAt)) - sentAt);
    await closed(engine, id);
    return took;
  }

  async function playOne(shape: Shape, started: Started[]): Promise<number> {
    const caller = next();
    const startedAt = performance.now();
    const id = await start(calls, caller, shape);
    await closed(engine, id);
    started.push({ id, caller });
    return performance.now() - startedAt;
  }

  return {
    createAgents: (httpUrl) => createAgents(calls, callers, httpUrl),
    single: (shape, runs) => inLanes({ runs, concurrency: 1 }, () => playSingle(shape)),
    async load(shape, load) {
      const started: Started[] = [];
      const played = await inLanes(load, () => playOne(shape, started));
      return { ...played, verify: () => verifyAll(calls, started) };
    },
    gate: () => playGate({ calls, engine }, next()),
    close: () => calls.close(),
  };
}

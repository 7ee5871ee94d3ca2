/** Idempotency keys on POST and PATCH: one effect and one answer, however often and by whichever process it is asked. */
import { randomUUID } from 'node:crypto';
import type { Request } from 'express';
import type { Context } from '../context';
import { takesIdempotencyKey, type Operation } from '../contracts/operation';
import type { Principal } from '../contracts/principal';
import { problem } from '../contracts/problem';
import {
  fingerprintOf,
  idsFrom,
  isKept,
  KEPT_MS,
  LEASE_MS,
  mayHaveActed,
  readKey,
  scopeOf,
} from '../domain/idempotency';
import { countKey, quotaSpent, uncountKey } from './auth-quota';
import {
  completeRequest,
  findRequest,
  forgetRequest,
  forgetUnbegun,
  releaseRequest,
  reserveRequest,
  takeOverRequest,
  type IdempotencyRecord,
} from '../store/idempotency';
import { insist } from '../store/insist';

/** A larger answer is that of a read, which may as well be done again. */
const BODY_CHARACTERS_MAX = 1_000_000;
const RESERVE_ATTEMPTS = 3;

interface Answer {
  status: number;
  headers: Record<string, string>;
  body: unknown;
}

/** One run of a request. */
export interface Run {
  /** Ids of the records it makes; a repeat of the same request gets the same ones. */
  newId: (prefix: string) => string;
  /** True when an earlier run may have had its effect and died before it could answer. */
  isRepeat: boolean;
  /** Keeps the answer for repeats, before it is sent. */
  keep(answer: Answer): Promise<void>;
  /** Keeps a refusal that a repeat would get again, and frees the key after any other that nothing was done before. */
  refused(answer: Answer): Promise<void>;
}

/** An answer that was given before. */
export interface Replay {
  status: number;
  headers: Record<string, string>;
  /** JSON text; null for an answer without a body. */
  body: string | null;
}

interface Asked {
  operation: Operation;
  request: Request;
  principal: Principal;
  input: { params: unknown; query: unknown; body: unknown };
}

/** The key of a request; null when it has none, or none that counts. */
export function keyOf({ operation, request, principal }: Omit<Asked, 'input'>): string | null {
  const header = request.headers['idempotency-key'];
  if (header === undefined || principal.kind === 'anonymous' || !takesIdempotencyKey(operation)) return null;
  const key = readKey(String(header));
  if (key !== null) return key;
  throw problem('validation_error', {
    message: 'Idempotency-Key: send 1 to 255 printable characters without spaces, such as a UUID.',
    findings: [{ path: 'Idempotency-Key', code: 'pattern', message: 'must be 1 to 255 printable characters' }],
  });
}

/** What is shown once is not stored: a replay has null in its place and says that it was shown. */
function storable({ operation }: Asked, body: unknown): unknown {
  const secret = operation.shownOnce;
  if (!secret || typeof body !== 'object' || body === null || !(secret in body)) return body;
  return { ...body, [secret]: null, [`${secret}Shown`]: true };
}

async function later(context: Context, write: () => Promise<void>): Promise<void> {
  if (!(await insist(write))) context.log.warn('idempotency record left open');
}

/**
 * The effect stands either way. Without the answer a repeat runs again and meets the records of this run; until then it
 * is told that a run is under way, so what the store did not take is written as soon as it can be.
 */
const settled = (context: Context, write: () => Promise<void>): Promise<void> =>
  write().catch((error: unknown) => {
    context.log.warn('idempotency record written later', { error });
    void later(context, write);
  });

function runOf(context: Context, asked: Asked, record: IdempotencyRecord, isRepeat: boolean): Run {
  const settle = (write: () => Promise<void>): Promise<void> => settled(context, write);
  const keep = async ({ status, headers, body }: Answer): Promise<void> => {
    const text = body === undefined ? null : JSON.stringify(storable(asked, body));
    if ((text?.length ?? 0) > BODY_CHARACTERS_MAX) return settle(() => releaseRequest(context.store, record));
    return settle(() => completeRequest(context.store, record, { status, headers, body: text }));
  };
  return {
    newId: idsFrom(record.seed, record.created_at),
    isRepeat,
    keep,
    refused(answer) {
      if (isKept(answer.status)) return keep(answer);
      const leave = mayHaveActed(answer.status, isRepeat) ? releaseRequest : forgetRequest;
      return settle(() => leave(context.store, record));
    },
  };
}

/** What the key stands for already: an answer, a run under way, or a run that died. Null when it is free after all. */
async function resume(context: Context, asked: Asked, held: IdempotencyRecord, fingerprint: string) {
  const now = context.clock.now();
  if (held.expires_at <= now) {
    await forgetRequest(context.store, held);
    return null;
  }
  if (held.fingerprint !== fingerprint) throw problem('idempotency_key_reused');
  if (held.status !== null) {
    const { status, headers, body } = held;
    return { replay: { status, headers: { ...headers, 'Idempotency-Replayed': 'true' }, body } };
  }
  const until = new Date(now.getTime() + LEASE_MS);
  const taken = held.lease_until <= now ? await takeOverRequest(context.store, held, until) : null;
  if (!taken) throw problem('idempotency_in_progress', { headers: { 'Retry-After': '1' } });
  return { run: runOf(context, asked, taken, true) };
}

/** Takes the key. A store that took it and could not say so would hold it for a run that never begins. */
async function reserve(context: Context, fresh: Parameters<typeof reserveRequest>[1]) {
  try {
    return await reserveRequest(context.store, fresh);
  } catch (error) {
    await settled(context, () => forgetUnbegun(context.store, fresh));
    throw error;
  }
}

/** Lets a request with a key run, or answers it as before. Refuses a key that is in use, or was used for something else. */
export async function enterOnce(
  context: Context,
  asked: Asked,
  key: string,
): Promise<{ run: Run } | { replay: Replay }> {
  const { operation, principal, input } = asked;
  // Somebody who moved to another client is answered nothing that was answered to them at the former one.
  const company = principal.kind === 'portal' ? ` ${principal.companyId}` : '';
  const credential = `${principal.kind} ${principal.id}${company}`;
  const _id = scopeOf({ orgId: principal.orgId, credential, operation: operation.id, params: input.params, key });
  const fingerprint = fingerprintOf(input);
  for (let attempt = 0; attempt < RESERVE_ATTEMPTS; attempt += 1) {
    const now = context.clock.now();
    const after = (milliseconds: number): Date => new Date(now.getTime() + milliseconds);
    const times = { created_at: now, expires_at: after(KEPT_MS), lease_until: after(LEASE_MS) };
    const isCounted = await countKey(context, principal.orgId);
    const fresh = { _id, fingerprint, seed: randomUUID(), ...times };
    const reserved = isCounted ? await reserve(context, fresh) : null;
    if (reserved) return { run: runOf(context, asked, reserved, false) };
    if (isCounted) uncountKey(context, principal.orgId);
    const held = await findRequest(context.store, _id);
    const resumed = held ? await resume(context, asked, held, fingerprint) : null;
    if (resumed) return resumed;
    if (!isCounted) throw quotaSpent(now);
  }
  throw problem('idempotency_in_progress', { headers: { 'Retry-After': '1' } });
}

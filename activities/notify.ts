/** `notification`: one message per recipient, each with an id that stays the same over every attempt. */
import { hash } from 'node:crypto';
import type { StepInput, StepResult } from '../src/contracts/messages';
import { RECIPIENTS_MAX } from '../src/contracts/step';
import { asOneLine, hasWrittenHost, renderText, renderTexts, renderUrl } from '../src/domain/text';
import { withDeadline } from '../src/providers/deadline';
import { ProviderError } from '../src/providers/error';
import { writeProgress } from '../src/store/execution-progress';
import type { Deps } from './deps';
import { patiently } from './record';
import { beating, runStep, type StepRun } from './step';
import type { Effect } from './step-end';

const ATTEMPTS_MAX = 8;
/** For all recipients together; those who were reached stay so when the next attempt goes on. */
const ATTEMPT_MS = 60_000;

interface Delivery {
  recipient: string;
  status: 'sent' | 'rejected';
  message_id: string | null;
  detail?: string;
}

/** Receivers drop a second copy by this id, should a worker die between sending and recording. */
const messageIdOf = (key: string, recipient: string): string =>
  `<${hash('sha256', `${key}:${recipient}`, 'hex').slice(0, 32)}@signalbox>`;

async function deliver(deps: Deps, run: StepRun<'notification'>, to: string): Promise<Delivery> {
  // A gateway might take it, and the trace would say that somebody was told.
  if (to === '') throw new ProviderError('invalid_input', 'A recipient is empty: its placeholder has no value');
  const { channel } = run.step;
  const body = renderText(run.step.body, run.scope, { escapeHtml: false });
  const given = asOneLine(renderText(run.step.subject ?? '', run.scope, { escapeHtml: false }));
  const subject = given.trim() === '' ? run.record.agent_name : given;
  if (channel === 'email') {
    const sent = await deps.providers.mail.send({
      to,
      subject,
      text: body,
      messageId: messageIdOf(run.key, to),
      signal: run.signal,
      headers: { 'X-Signalbox-Execution': run.record._id, 'Auto-Submitted': 'auto-generated' },
    });
    return { recipient: to, status: 'sent', message_id: sent.message_id };
  }
  const key = `${run.key}:${hash('sha256', to, 'hex').slice(0, 12)}`;
  const message = { channel, to, body, subject, key, signal: run.signal, ...run.limits };
  const delivered = await deps.providers.gateways.deliver(message);
  return { recipient: to, status: 'sent', message_id: delivered.id };
}

/** Refusals that concern one recipient alone. Its own word counts as one only where no gateway of ours is asked. */
function isOfRecipient(deps: Deps, { step }: StepRun<'notification'>, { kind }: ProviderError): boolean {
  if (kind === 'rejected' || kind === 'invalid_input') return true;
  const isOwnAddress = step.channel === 'webhook' && deps.config.gateways.webhook === '';
  return isOwnAddress && (kind === 'auth' || kind === 'blocked_address');
}

function recipientsOf({ step, scope }: StepRun<'notification'>): string[] {
  const named = step.recipients.flatMap((template) =>
    step.channel === 'webhook' && hasWrittenHost(template) ? renderUrl(template, scope) : renderTexts(template, scope),
  );
  const recipients = [...new Set(named.map((name) => name.trim()))];
  if (recipients.length <= RECIPIENTS_MAX) return recipients;
  throw new ProviderError(
    'invalid_input',
    `The step has ${recipients.length} recipients once its placeholders are filled, and may have at most ${RECIPIENTS_MAX}`,
  );
}

/** Those who still have to be reached. Each attempt begins with another, so that slow ones do not use up all of them. */
function recipientsLeft(run: StepRun<'notification'>, named: string[], settled: readonly Delivery[]): string[] {
  const left = named.filter((name) => !settled.some(({ recipient }) => recipient === name));
  const first = left.length === 0 ? 0 : (run.attempt - 1) % left.length;
  return [...left.slice(first), ...left.slice(0, first)];
}

interface Told {
  /** Who was told or refused, in this attempt and before. */
  deliveries: Delivery[];
  refusals: ProviderError[];
  /** Those who were not reached. */
  failed: { recipient: string; error: ProviderError }[];
}

async function tell(deps: Deps, run: StepRun<'notification'>, recipient: string, told: Told): Promise<void> {
  try {
    told.deliveries.push(await deliver(deps, run, recipient));
  } catch (error) {
    // What stops the attempt, and what is about the message or our own settings, stops it for all.
    if (run.signal.aborted || !(error instanceof ProviderError) || error.kind === 'not_configured') throw error;
    if (!isOfRecipient(deps, run, error)) {
      told.failed.push({ recipient, error });
      return;
    }
    told.refusals.push(error);
    told.deliveries.push({ recipient, status: 'rejected', message_id: null, detail: error.message });
  }
}

/** What the attempt fails with although everybody was tried: what another attempt can change comes first. */
function failureOf({ failed, deliveries }: Told): ProviderError | null {
  const worst = failed.find(({ error }) => error.retryable) ?? failed[0];
  if (!worst || failed.length + deliveries.length === 1) return worst?.error ?? null;
  const { kind, message, retryAfterMs } = worst.error;
  return new ProviderError(kind, `${worst.recipient}: ${message}`, { retryAfterMs, cause: worst.error });
}

const NAMED_REFUSALS: readonly string[] = ['auth', 'blocked_address'];

/** Nobody took it: the code says why where it is the same for all. */
function refusalOf({ deliveries, refusals }: Told): ProviderError {
  const kind = refusals[0]?.kind ?? 'rejected';
  const isOne = NAMED_REFUSALS.includes(kind) && refusals.every((refusal) => refusal.kind === kind);
  const said = deliveries.map(({ recipient, detail = 'refused' }) => (recipient ? `${recipient}: ${detail}` : detail));
  return new ProviderError(isOne && refusals.length === deliveries.length ? kind : 'rejected', said.join('; '));
}

/** True when the only recipient was told: the step's own record, which is written next, says so. */
const isTold = (named: readonly string[], [first]: readonly Delivery[]): boolean =>
  named.length === 1 && first?.status === 'sent';

/**
 * Sends to everybody who was not reached before, be it by an attempt that the engine has lost: one who cannot be, now or
 * ever, does not stop the others.
 */
async function sendAll(deps: Deps, run: StepRun<'notification'>): Promise<Effect> {
  const known = run.record.steps[run.input.slot]?.output['deliveries'] as Delivery[] | undefined;
  const deliveries = [...(known ?? [])];
  const told: Told = { deliveries, refusals: [], failed: [] };
  const named = recipientsOf(run);
  for (const recipient of recipientsLeft(run, named, deliveries)) {
    const before = deliveries.length;
    run.signal.throwIfAborted();
    await tell(deps, run, recipient, told);
    if (deliveries.length === before || isTold(named, deliveries)) continue;
    await patiently(() =>
      writeProgress(deps.store, run.input.execution_id, run.input.slot, { deliveries: [...deliveries] }),
    );
  }
  const failure = failureOf(told);
  if (failure) throw failure;
  if (deliveries.every((delivery) => delivery.status === 'rejected')) throw refusalOf(told);
  return { output: { deliveries } };
}

async function sendInTime(deps: Deps, run: StepRun<'notification'>): Promise<Effect> {
  const { signal, limits } = run;
  const deadline = { signal, timeoutMs: limits.timeoutMs ?? ATTEMPT_MS, from: `The ${run.step.channel} channel` };
  return withDeadline(deadline, (limited) => sendAll(deps, { ...run, signal: limited }));
}

/** Runs a notification step. */
export const notification = (deps: Deps, input: StepInput): Promise<StepResult> =>
  beating(() =>
    runStep(deps, input, { type: 'notification', attemptsMax: ATTEMPTS_MAX }, (run) => sendInTime(deps, run)),
  );

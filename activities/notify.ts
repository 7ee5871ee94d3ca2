/** `notification`: one message per recipient, each with an id that stays the same over every attempt. */
import { hash } from 'node:crypto';
import type { StepInput, StepResult } from '../src/contracts/messages';
import { asOneLine, renderText } from '../src/domain/text';
import { withDeadline } from '../src/providers/deadline';
import { ProviderError } from '../src/providers/error';
import { writeProgress } from '../src/store/execution-writes';
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
  const { channel } = run.step;
  const body = renderText(run.step.body, run.scope, { escapeHtml: false });
  const subject = asOneLine(
    run.step.subject ? renderText(run.step.subject, run.scope, { escapeHtml: false }) : run.record.agent_name,
  );
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

/** A recipient that can never be reached does not stop the others. */
async function deliverOrRefuse(deps: Deps, run: StepRun<'notification'>, to: string): Promise<Delivery> {
  try {
    return await deliver(deps, run, to);
  } catch (error) {
    if (error instanceof ProviderError && (error.kind === 'rejected' || error.kind === 'invalid_input')) {
      return { recipient: to, status: 'rejected', message_id: null, detail: error.message };
    }
    throw error;
  }
}

async function sendAll(deps: Deps, run: StepRun<'notification'>): Promise<Effect> {
  const recipients = run.step.recipients.map((template) =>
    renderText(template, run.scope, { escapeHtml: false }).trim(),
  );
  const known = (run.record.steps[run.input.slot]?.output['deliveries'] ?? []) as Delivery[];
  const deliveries: Delivery[] = run.attempt > 1 ? [...known] : [];
  for (const recipient of new Set(recipients)) {
    if (deliveries.some((delivery) => delivery.recipient === recipient)) continue;
    deliveries.push(await deliverOrRefuse(deps, run, recipient));
    if (recipients.length > 1) {
      await patiently(() =>
        writeProgress(deps.store, run.input.execution_id, run.input.slot, { deliveries: [...deliveries] }),
      );
    }
  }
  if (deliveries.every((delivery) => delivery.status === 'rejected')) {
    throw new ProviderError(
      'rejected',
      deliveries.map(({ recipient, detail }) => `${recipient}: ${detail ?? 'refused'}`).join('; '),
    );
  }
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

/** How every refusal leaves the process. */
import type { Response } from 'express';
import type { Context } from '../context';
import type { ServiceName } from '../contracts/operation';
import type { Problem } from '../contracts/problem';
import { prefersProblemJson, PROBLEM_TYPE } from './accepts';
import { answerFor, problemDetails, toProblem } from './problems';
import { sendJson, setHeaders } from './send';

const FAILED_FROM = 500;
const UNAVAILABLE = 503;

/** Tells what the process failed in. An outage meets every request: what is away matters, not where it was noticed. */
function logFailure({ log }: Context, refusal: Problem, requestId: string): void {
  const { code, status, message, cause } = refusal;
  if (status < FAILED_FROM) return;
  if (status === UNAVAILABLE)
    log.warn(code, { request_id: requestId, why: cause instanceof Error ? cause.message : message });
  else log.error(code, { request_id: requestId, error: cause ?? refusal });
}

/** Sends a refusal in the service's own body shape. */
export function refuse(
  thrown: unknown,
  service: ServiceName,
  exchange: { response: Response; requestId: string },
  context: Context,
): void {
  const refusal = toProblem(thrown);
  logFailure(context, refusal, exchange.requestId);
  if (exchange.response.headersSent) return;
  const { status, headers, body } = answerFor(refusal, service, exchange.requestId);
  setHeaders(exchange.response, headers);
  sendRefusal(exchange.response, { status, body }, context);
}

/** A refusal in the format the client asked for: the service's own, or that of RFC 9457. */
export function sendRefusal(
  response: Response,
  refusal: { status: number; body: Record<string, unknown> },
  { config }: Context,
): void {
  const { status, body } = refusal;
  response.vary('Accept');
  if (!prefersProblemJson(response.req.headers.accept)) sendJson(response, status, body);
  else
    response
      .status(status)
      .type(PROBLEM_TYPE)
      .send(JSON.stringify(problemDetails(body, status, config.publicUrl)));
}

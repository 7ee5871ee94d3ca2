/** How every refusal leaves the process. */
import type { Response } from 'express';
import type { Context } from '../context';
import type { ServiceName } from '../contracts/operation';
import { prefersProblemJson, PROBLEM_TYPE } from './accepts';
import { answerFor, problemDetails, toProblem } from './problems';
import { sendJson, setHeaders } from './send';

/** Sends a refusal in the service's own body shape. */
export function refuse(
  thrown: unknown,
  service: ServiceName,
  exchange: { response: Response; requestId: string },
  context: Context,
): void {
  const refusal = toProblem(thrown);
  if (refusal.status >= 500)
    context.log.error(refusal.code, { request_id: exchange.requestId, error: refusal.cause ?? refusal });
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

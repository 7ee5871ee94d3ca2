/** Answers to what never becomes a request: bytes that are not HTTP, headers without end, one connection too many. */
import type { Socket } from 'node:net';
import { problem, type ProblemCode } from '../contracts/problem';
import type { ServiceName } from '../contracts/operation';
import { newId } from '../domain/ids';
import { answerFor } from './problems';

const CODES: Record<string, ProblemCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  TOO_MANY_CONNECTIONS: 'too_many_connections',
};
const REASONS: Record<number, string> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
};

/** Only the first line tells the service, and only if it was in the bytes that were refused. */
const serviceOf = (packet: Buffer | undefined): ServiceName =>
  /^[A-Z]+ \/agents\//.test(packet?.toString('latin1', 0, 64) ?? '') ? 'agents' : 'psa';

/** The whole answer as it is written to the connection, which is closed behind it. */
export function rawAnswer(error: { code?: string; rawPacket?: Buffer }): string {
  const requestId = newId('req');
  const refusal = problem(CODES[error.code ?? ''] ?? 'malformed_request');
  const { status, body } = answerFor(refusal, serviceOf(error.rawPacket), requestId);
  const text = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${status} ${REASONS[status] ?? ''}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    `X-Request-Id: ${requestId}`,
    'X-Content-Type-Options: nosniff',
    'Cache-Control: private, no-store',
    'Connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${text}`;
}

/** Listener for a server's `clientError`. */
export function answerClientError(error: Error & { code?: string; rawPacket?: Buffer }, socket: Socket): void {
  // Node keeps the answer under way here. Once its head has left, a second one would be read as part of the first.
  const { _httpMessage: underWay } = socket as Socket & { _httpMessage?: { _headerSent: boolean } | null };
  const mayAnswer = socket.writable && error.code !== 'ECONNRESET' && !underWay?._headerSent;
  if (mayAnswer) socket.end(rawAnswer(error));
  else socket.destroy();
}

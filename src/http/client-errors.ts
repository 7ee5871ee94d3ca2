/** Answers to what never becomes a request: bytes that are not HTTP, headers without end, one connection too many. */
import type { Socket } from 'node:net';
import { problem, type ProblemCode } from '../contracts/problem';
import type { ServiceName } from '../contracts/operation';
import { newId } from '../domain/ids';
import type { CredentialGuard } from './admission';
import { answerFor } from './problems';
import { openingHeaders } from './send';

const CODES: Record<string, ProblemCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  TOO_MANY_CONNECTIONS: 'too_many_connections',
};
const REASONS: Record<number, string> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
  503: 'Service Unavailable',
};
/** Connections end all the time: a moment later there may be room for another one. */
const ROOM_AGAIN_SECONDS = '1';

/** What a connection that is refused has to say. */
export interface ClientError {
  code?: string;
  rawPacket?: Buffer;
}
/** The whole answer as it is written to a connection, which is closed behind it. */
export type RawAnswer = (error: ClientError, socket: Socket) => string;

/** Only the first line tells the service, and only if it was in the bytes that were refused. */
const serviceOf = (packet: Buffer | undefined): ServiceName =>
  /^[A-Z]+ \/agents\//.test(packet?.toString('latin1', 0, 64) ?? '') ? 'agents' : 'psa';

function refusalOf(error: ClientError) {
  const code = CODES[error.code ?? ''] ?? 'malformed_request';
  return problem(code, code === 'too_many_connections' ? { headers: { 'Retry-After': ROOM_AGAIN_SECONDS } } : {});
}

/** Rate headers are those of the address: who is calling, nobody has been asked. */
export const rawAnswers =
  (guard: Pick<CredentialGuard, 'headersFor'>): RawAnswer =>
  (error, socket) => {
    const requestId = newId('req');
    const { status, body, headers } = answerFor(refusalOf(error), serviceOf(error.rawPacket), requestId);
    const text = JSON.stringify(body);
    const sent = {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(text),
      ...openingHeaders(requestId),
      ...guard.headersFor({ headers: {}, socket }),
      ...headers,
      Connection: 'close',
    };
    const head = Object.entries(sent).map(([name, value]) => `${name}: ${value}`);
    return `${[`HTTP/1.1 ${status} ${REASONS[status] ?? ''}`, ...head].join('\r\n')}\r\n\r\n${text}`;
  };

/** Listener for a server's `clientError`. */
export const clientErrorListener =
  (answer: RawAnswer) =>
  (error: Error & ClientError, socket: Socket): void => {
    // Node keeps the answer under way here. Once its head has left, a second one would be read as part of the first.
    const { _httpMessage: underWay } = socket as Socket & { _httpMessage?: { _headerSent: boolean } | null };
    const mayAnswer = socket.writable && error.code !== 'ECONNRESET' && !underWay?._headerSent;
    if (mayAnswer) socket.end(answer(error, socket));
    else socket.destroy();
  };

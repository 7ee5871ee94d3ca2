/** Answers to what never becomes a request: bytes that are not HTTP, headers without end, one connection too many. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { problem, type ProblemCode } from '../contracts/problem';
import type { ServiceName } from '../contracts/operation';
import { newId } from '../domain/ids';
import type { Config } from '../config';
import { prefersProblemJson, PROBLEM_TYPE } from './accepts';
import type { CredentialGuard } from './admission';
import { answerFor, problemDetails } from './problems';
import { JSON_TYPE, openingHeaders } from './send';

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
  /** What came last. */
  rawPacket?: Buffer;
  /** The request whose body did not come. */
  request?: IncomingMessage & { originalUrl?: string };
}
/** The whole answer as it is written to a connection, which is closed behind it. */
export type RawAnswer = (error: ClientError, socket: Socket) => string;

interface Asked {
  service: ServiceName;
  accept: string | undefined;
}

/** Who is called, and which format is asked for: as far as it was understood, or stands in the bytes that were refused. */
function askedOf({ request, rawPacket }: ClientError): Asked {
  const [head = ''] = rawPacket?.toString('latin1').split('\r\n\r\n', 1) ?? [];
  const path = request ? (request.originalUrl ?? request.url ?? '') : (/^[A-Z]+ (\S+)/.exec(head)?.[1] ?? '');
  const accept = request ? request.headers.accept : /\r\naccept:([^\r\n]*)/i.exec(head)?.[1];
  return { service: path.startsWith('/agents/') ? 'agents' : 'psa', accept };
}

function refusalOf(error: ClientError) {
  const code = CODES[error.code ?? ''] ?? 'malformed_request';
  return problem(code, code === 'too_many_connections' ? { headers: { 'Retry-After': ROOM_AGAIN_SECONDS } } : {});
}

/** Rate headers are those of the address: who is calling, nobody has been asked. */
export const rawAnswers =
  (guard: Pick<CredentialGuard, 'headersFor'>, { publicUrl }: Pick<Config, 'publicUrl'>): RawAnswer =>
  (error, socket) => {
    const requestId = newId('req');
    const { service, accept } = askedOf(error);
    const { status, body, headers } = answerFor(refusalOf(error), service, requestId);
    const isProblem = prefersProblemJson(accept);
    const text = JSON.stringify(isProblem ? problemDetails(body, status, publicUrl) : body);
    const sent = {
      'Content-Type': isProblem ? `${PROBLEM_TYPE}; charset=utf-8` : JSON_TYPE,
      'Content-Length': Buffer.byteLength(text),
      ...openingHeaders(requestId),
      ...guard.headersFor({ headers: {}, socket }),
      ...headers,
      Vary: 'Accept',
      Connection: 'close',
    };
    const head = Object.entries(sent).map(([name, value]) => `${name}: ${value}`);
    return `${[`HTTP/1.1 ${status} ${REASONS[status] ?? ''}`, ...head].join('\r\n')}\r\n\r\n${text}`;
  };

interface UnderWay {
  _headerSent: boolean;
  req: IncomingMessage;
}

/** Listener for a server's `clientError`. */
export const clientErrorListener =
  (answer: RawAnswer) =>
  (error: Error & ClientError, socket: Socket): void => {
    // Node keeps the answer under way here. Once its head has left, a second one would be read as part of the first.
    const { _httpMessage: underWay } = socket as Socket & { _httpMessage?: UnderWay | null };
    const mayAnswer = socket.writable && error.code !== 'ECONNRESET' && !underWay?._headerSent;
    const { code, rawPacket } = error;
    const known = { ...(code ? { code } : {}), ...(rawPacket ? { rawPacket } : {}) };
    if (mayAnswer) socket.end(answer(underWay ? { ...known, request: underWay.req } : known, socket));
    else socket.destroy();
  };

/** A real HTTP server on loopback that records what it was sent and answers as it is told. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request as it arrived. */
export interface ReceivedRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  /** Parsed when it is JSON. */
  body: unknown;
}

/** What to answer. A string is sent as text, bytes as they are, anything else as JSON. */
export interface Answer {
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
  delayMs?: number;
  /** Never answer. */
  hang?: boolean;
  /** Drop the connection instead of answering. */
  destroy?: boolean;
}

/** A running server. */
export interface HttpStandIn {
  readonly url: string;
  readonly port: number;
  /** Everything received, oldest first. */
  readonly requests: ReceivedRequest[];
  /** Connections ever accepted, also those that sent nothing. */
  connections(): number;
  stop(): Promise<void>;
}

async function receive(request: IncomingMessage): Promise<ReceivedRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
  const isJson = (headers['content-type'] ?? '').includes('json');
  return {
    method: request.method ?? '',
    path: request.url ?? '',
    headers,
    body: isJson && text ? JSON.parse(text) : text,
  };
}

function respond(response: ServerResponse, answer: Answer): void {
  if (answer.hang || response.destroyed) return;
  if (answer.destroy) {
    response.destroy();
    return;
  }
  const isText = typeof answer.body === 'string';
  const isWritten = isText || answer.body instanceof Uint8Array;
  response.writeHead(answer.status ?? 200, {
    'content-type': isText ? 'text/plain; charset=utf-8' : 'application/json',
    ...answer.headers,
  });
  response.end(isWritten ? answer.body : JSON.stringify(answer.body ?? {}));
}

/** Starts a server on a free loopback port. */
export async function startHttpServer(
  handler: (request: ReceivedRequest) => Answer | Promise<Answer>,
): Promise<HttpStandIn> {
  const requests: ReceivedRequest[] = [];
  const timers = new Set<NodeJS.Timeout>();
  let connections = 0;
  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = await receive(incoming);
    requests.push(request);
    const answer = await handler(request);
    if (!answer.delayMs) return respond(response, answer);
    const timer = setTimeout(() => {
      timers.delete(timer);
      respond(response, answer);
    }, answer.delayMs);
    timers.add(timer);
  };
  const server = createServer((incoming, response) => {
    // A client that hangs up in the middle is part of what the tests do.
    handle(incoming, response).catch(() => response.destroy());
  });
  server.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    connections: () => connections,
    stop: () =>
      new Promise((resolve) => {
        for (const timer of timers) clearTimeout(timer);
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

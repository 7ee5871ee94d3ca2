/** The HTTP side of the development inbox: pages, JSON for scripts, and gateways for messages that are not mail. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Arrival, Channel, InboxMessages } from './inbox-messages';
import { listPage, messagePage } from './inbox-pages';

const BODY_BYTES_MAX = 1024 * 1024;
const GATEWAY_CHANNELS = ['sms', 'slack', 'teams', 'webhook'] as const;
const LOOPBACK_HOST = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/;

// Nothing may be loaded or run, so a message cannot reach out of its frame.
const CONTENT_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-src 'self'; form-action 'none'";

class RequestError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

interface Reply {
  status?: number;
  type: 'text/html' | 'text/plain' | 'application/json';
  body: string | Buffer;
}

const json = (value: unknown): Reply => ({ type: 'application/json', body: `${JSON.stringify(value)}\n` });

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) throw new RequestError(413, `body larger than ${BODY_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString());
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Answered below, like a body that is JSON but not an object.
  }
  throw new RequestError(400, 'the body must be a JSON object');
}

const asText = (value: unknown): string => {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
};

/** Reads what a notification gateway is sent: `{channel, to, body, …}`. */
export function parseGatewayMessage(channel: Channel, input: Record<string, unknown>): Arrival {
  const recipients = Array.isArray(input['to']) ? (input['to'] as unknown[]) : [input['to']];
  return {
    channel,
    from: asText(input['from']),
    to: recipients.map(asText).filter(Boolean),
    subject: asText(input['subject'] ?? input['title']),
    text: asText(input['body'] ?? input['text']),
    html: '',
    headers: {},
  };
}

async function takeFromGateway(messages: InboxMessages, name: string, request: IncomingMessage): Promise<Reply> {
  const channel = GATEWAY_CHANNELS.find((known) => known === name);
  if (!channel) throw new RequestError(404, `no gateway "${name}"; there are ${GATEWAY_CHANNELS.join(', ')}`);
  const input = await readJson(request);
  const message = await messages.add(parseGatewayMessage(channel, input), Buffer.from(JSON.stringify(input, null, 2)));
  return json({ message_id: message.id });
}

async function messageReply(messages: InboxMessages, id: string, view: string | undefined): Promise<Reply> {
  const message = messages.find(id);
  if (!message) throw new RequestError(404, 'no such message; only the latest ones are kept');
  if (!view) return { type: 'text/html', body: messagePage(message) };
  return { type: 'text/plain', body: (await messages.raw(id)) ?? '' };
}

async function route(messages: InboxMessages, request: IncomingMessage): Promise<Reply> {
  const { pathname } = new URL(request.url ?? '/', 'http://inbox');
  const asked = `${request.method ?? 'GET'} ${pathname}`;
  if (asked === 'GET /dev/inbox') return { type: 'text/html', body: listPage(messages.list()) };
  if (asked === 'GET /dev/inbox.json') return json({ messages: messages.list() });
  if (asked === 'DELETE /dev/inbox.json') {
    await messages.clear();
    return json({ messages: [] });
  }
  const [, id = '', view] = /^GET \/dev\/inbox\/(\w+)(\/raw)?$/.exec(asked) ?? [];
  if (id) return messageReply(messages, id, view);
  const [, gateway] = /^POST \/gateway\/(\w+)$/.exec(asked) ?? [];
  if (gateway) return takeFromGateway(messages, gateway, request);
  throw new RequestError(404, 'not found; the inbox is at /dev/inbox');
}

/** A web page from elsewhere must neither read the inbox through a rebound name nor write to it. */
function assertLocal({ headers }: IncomingMessage): void {
  if (!LOOPBACK_HOST.test(headers.host ?? '')) throw new RequestError(403, 'only for requests to a loopback address');
  if (headers.origin && headers.origin !== `http://${headers.host}`)
    throw new RequestError(403, 'not for other origins');
}

async function answer(messages: InboxMessages, request: IncomingMessage): Promise<Reply> {
  try {
    assertLocal(request);
    return await route(messages, request);
  } catch (error) {
    const status = error instanceof RequestError ? error.status : 500;
    const message = error instanceof Error ? error.message : String(error);
    return { ...json({ error: message }), status };
  }
}

function send(response: ServerResponse, { status = 200, type, body }: Reply): void {
  response.writeHead(status, {
    'content-type': `${type}; charset=utf-8`,
    'content-security-policy': CONTENT_POLICY,
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  });
  response.end(body);
}

/** Listens on loopback. */
export async function startInboxServer(messages: InboxMessages, port: number): Promise<Server> {
  const server = createServer((request, response) => {
    void answer(messages, request).then((reply) => send(response, reply));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return server;
}

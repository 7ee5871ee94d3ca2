/** A typed client made of the operations themselves: `call(base, getTicket, {params: {id}}, credentials)`. */
import type { Operation } from '../contracts/operation';
import type { Static, TSchema } from '../contracts/schema';

/** How the caller proves who it is; the browser's own session cookie needs the CSRF token beside it. */
export type Credentials =
  | { kind: 'none' }
  | { kind: 'key'; key: string }
  | { kind: 'session'; csrfToken: string | null };

type Declared<Schema> = Exclude<Schema, undefined>;

/** A part an operation declares must be given; where only the general type is known, anything may be. */
type Part<Name extends string, Schema> =
  TSchema extends Declared<Schema>
    ? { [Key in Name]?: unknown }
    : Declared<Schema> extends TSchema
      ? { [Key in Name]: Static<Declared<Schema>> }
      : { [Key in Name]?: undefined };

/** What a call takes: exactly the parameters, query and body its operation declares. */
export type Input<Shape extends Operation> = Part<'params', Shape['params']> &
  Partial<Part<'query', Shape['query']>> &
  Part<'body', Shape['body']> & {
    /** Tag of what the caller already has: the answer may be 304 without a body. */
    ifNoneMatch?: string;
    /** Tag of the version a change is meant for. */
    ifMatch?: string;
    /** Makes a POST or PATCH safe to repeat: the same key gets the same answer, and the effect happens once. */
    idempotencyKey?: string;
    signal?: AbortSignal;
  };

type BodyOf<Schema> = Schema extends TSchema ? Static<Schema> : undefined;
type Success<Responses> = { [Status in keyof Responses]: BodyOf<Responses[Status]> }[keyof Responses];

/** What a call answers; `body` is undefined for 204 and 304. */
export interface Output<Shape extends Operation> {
  status: number;
  body: Success<Shape['responses']> | undefined;
  etag: string | null;
  headers: Headers;
}

/** A refusal, in whichever of the services' body shapes it came. */
export class CallProblem extends Error {
  readonly status: number;
  /** `agent_not_found` on the agent service, `NOT_FOUND` elsewhere; the status where there is none. */
  readonly code: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Headers;

  constructor(status: number, body: Record<string, unknown>, headers: Headers) {
    const { error, message, code } = body as { error?: string; message?: string; code?: string };
    super(message ?? error ?? `HTTP ${status}`);
    this.name = 'CallProblem';
    this.status = status;
    this.code = code ?? error ?? String(status);
    this.body = body;
    this.headers = headers;
  }
}

const CALL_MS_MAX = 30_000;

interface Parts {
  params?: Record<string, string | number>;
  query?: Record<string, string | number | boolean | string[] | undefined>;
  body?: unknown;
}

/** Dots and nothing mean another address: the list for the record, or the one above. */
function segmentOf(name: string, value: string): string {
  if (/^\.{0,2}$/.test(value)) throw new TypeError(`${name}: "${value}" cannot be part of an address`);
  return encodeURIComponent(value);
}

function addressOf(base: string, operation: Operation, { params = {}, query = {} }: Parts): string {
  const path = operation.path.replace(/:([A-Za-z]+)/g, (_match, name: string) =>
    segmentOf(name, String(params[name] ?? '')),
  );
  const search = new URLSearchParams();
  // A list is written with commas, which is also how `String` writes it.
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) search.set(name, String(value));
  }
  const suffix = search.size > 0 ? `?${search.toString()}` : '';
  return `${base.replace(/\/$/, '')}/${operation.service}${path}${suffix}`;
}

function credentialHeaders(credentials: Credentials): Record<string, string> {
  if (credentials.kind === 'key') return { authorization: `Bearer ${credentials.key}` };
  return credentials.kind === 'session' && credentials.csrfToken ? { 'x-csrf-token': credentials.csrfToken } : {};
}

async function readBody(reply: Response): Promise<unknown> {
  const text = await reply.text();
  if (!text) return undefined;
  return (reply.headers.get('content-type') ?? '').includes('json') ? (JSON.parse(text) as unknown) : { error: text };
}

/** Calls an operation. Refusals are thrown as `CallProblem`; a 304 is an answer without a body. */
export async function call<Shape extends Operation>(
  base: string,
  operation: Shape,
  input: Input<Shape>,
  credentials: Credentials,
): Promise<Output<Shape>> {
  const parts = input as Parts;
  const reply = await fetch(addressOf(base, operation, parts), {
    method: operation.method,
    credentials: credentials.kind === 'session' ? 'same-origin' : 'omit',
    signal: input.signal ?? AbortSignal.timeout(CALL_MS_MAX),
    headers: {
      accept: 'application/json',
      ...credentialHeaders(credentials),
      ...(input.ifNoneMatch ? { 'if-none-match': input.ifNoneMatch } : {}),
      ...(input.ifMatch ? { 'if-match': input.ifMatch } : {}),
      ...(input.idempotencyKey ? { 'idempotency-key': input.idempotencyKey } : {}),
      ...(parts.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(parts.body === undefined ? {} : { body: JSON.stringify(parts.body) }),
  });
  const body = await readBody(reply);
  if (reply.status >= 400) throw new CallProblem(reply.status, (body ?? {}) as Record<string, unknown>, reply.headers);
  return {
    status: reply.status,
    body: body as Output<Shape>['body'],
    etag: reply.headers.get('etag'),
    headers: reply.headers,
  };
}

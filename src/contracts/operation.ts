/** An operation is the one declaration of a route: from it come validation, types, OpenAPI, the client and the tests. */
import type { Access, PortalPermission, Principal } from './principal';
import type { ProblemCode } from './problem';
import type { Static, TSchema } from './schema';

export const SERVICES = [
  'agents',
  'mail',
  'console',
  'psa',
  'crm',
  'books',
  'rmm',
  'security',
  'defend',
  'backups',
  'voice',
  'portal',
] as const;
export type ServiceName = (typeof SERVICES)[number];

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Notice that an operation will go: told in OpenAPI and in the headers of its replies. */
export interface Deprecation {
  /** `YYYY-MM-DD`. */
  since: string;
  /** `YYYY-MM-DD`, twelve months after `since` or later: the first day on which it may be gone. */
  sunset: string;
  /** Id of the operation to use in its place. */
  successor?: string;
}

export interface Operation<
  Params extends TSchema = TSchema,
  Query extends TSchema = TSchema,
  Body extends TSchema = TSchema,
  Responses extends Record<number, TSchema | null> = Record<number, TSchema | null>,
> {
  /** `operationId` in OpenAPI, name of the handler, of the client's method and of the test. */
  id: string;
  /** The mount that serves it: `/agents`, `/psa`, … */
  service: ServiceName;
  method: Method;
  /** Express path below the mount, for example `/api/agents/:id`. */
  path: string;
  tag: string;
  summary: string;
  description?: string;
  access: Access;
  /** What a portal token needs here; without it, portal tokens do not reach the operation. */
  portal?: PortalPermission;
  /** Field of the body that is a portal token's own company, so that it need not be sent. */
  ownCompany?: string;
  params?: Params;
  query?: Query;
  body?: Body;
  /** The schema of each success; `null` for a reply without a body. */
  responses: Responses;
  /** Refusals beyond those every operation has (400, 401, 403, 429, 500, 503). */
  errors?: readonly ProblemCode[];
  /** The code a schema violation of the body gets; `validation_error` unless named. */
  invalidBody?: ProblemCode;
  /** Largest body in bytes; 256 KiB unless named. */
  bodyBytesMax?: number;
  /** What is addressed can hardly be changed by anybody: an invalid body is refused as that, and not for what it says. */
  fixed?: { isAt: (params: Readonly<Record<string, unknown>>) => boolean; why: string };
  /** Findings say what was sent: the body holds a record's fields, and no secret. */
  echoes?: true;
  /** Example request bodies, validated by a test and shown in OpenAPI. */
  examples?: Record<string, unknown>;
  /** Field of the reply that is shown once and never stored: a replay by idempotency key has null there. */
  shownOnce?: string;
  /** Answered even when the tenant's window is spent, and not counted. */
  unmetered?: boolean;
  deprecated?: Deprecation;
}

/** Declares an operation and keeps the exact types of its schemas. */
export const operation = <
  Params extends TSchema,
  Query extends TSchema,
  Body extends TSchema,
  Responses extends Record<number, TSchema | null>,
>(
  declared: Operation<Params, Query, Body, Responses>,
): Operation<Params, Query, Body, Responses> => declared;

/** True when a repeat of the request can be told from a new one by its `Idempotency-Key`. */
export const takesIdempotencyKey = ({ method, access }: Operation): boolean =>
  (method === 'POST' || method === 'PATCH') && access.kind !== 'public';

/** The value of a schema that an operation may or may not declare. */
type Parsed<Schema> = Exclude<Schema, undefined> extends infer Declared extends TSchema ? Static<Declared> : undefined;

/** What a handler receives: input that has already been authenticated, limited, authorised and validated. */
export interface Call<Shape extends Operation, Context> {
  params: Parsed<Shape['params']>;
  query: Parsed<Shape['query']>;
  body: Parsed<Shape['body']>;
  principal: Principal;
  /** The tenant's epoch as the request found it; what was remembered under it is still in force. */
  epoch: number | null;
  context: Context;
  requestId: string;
  /** A new record's id; a repeat by idempotency key gets the same ones in the same order. */
  newId: (prefix: string) => string;
  /** True when an earlier run of this request may have had its effect and died before it could answer. */
  isRepeat: boolean;
  /** Request headers by lower-case name. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

type ReplyBody<Schema> = Schema extends TSchema ? { body: Static<Schema> } : { body?: undefined };

/** What a handler answers: one of the declared statuses with exactly its body. */
export type Reply<Shape extends Operation> = {
  [Status in keyof Shape['responses']]: {
    status: Status;
    headers?: Record<string, string>;
    /** Weak entity tag without quotes; the mount answers 304 when the client has it. */
    etag?: string;
  } & ReplyBody<Shape['responses'][Status]>;
}[keyof Shape['responses']];

export type Handler<Shape extends Operation, Context> = (call: Call<Shape, Context>) => Promise<Reply<Shape>>;

/** One handler per operation; a missing one, or one that answers the wrong shape, does not compile. */
export type Handlers<Table extends Record<string, Operation>, Context> = {
  [Name in keyof Table]: Handler<Table[Name], Context>;
};

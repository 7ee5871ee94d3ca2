/** The headers of answers as the documents describe them, and which of them an answer has. */
import { takesIdempotencyKey, type Operation } from '../contracts/operation';
import type { Json } from './openapi-schemas';

const text = (description: string): Json => ({ description, schema: { type: 'string' } });
const whole = (description: string): Json => ({ description, schema: { type: 'integer' } });

/** Every header that any answer has; what HTTP itself needs is not named. */
export const HEADERS: Record<string, Json> = {
  'X-Request-Id': text('Names this request in the log and in support'),
  'Platform-Version': text('The version of the API this answer has'),
  'X-Spec-Hash': text('Changes whenever this document does'),
  'X-RateLimit-Limit': whole('Requests per window of the policy nearest to its limit'),
  'X-RateLimit-Remaining': whole('Requests left in its window'),
  'X-RateLimit-Reset': whole('Unix time, in seconds, when its window resets'),
  RateLimit: text('Every policy in force: requests left and seconds to its reset'),
  'RateLimit-Policy': text('Every policy in force: its quota and its window'),
  'Retry-After': whole('Seconds to wait before the next try'),
  'WWW-Authenticate': text('The scheme to authenticate with'),
  ETag: text('Weak entity tag of the answer; send it back in `If-None-Match` or `If-Match`'),
  Location: text('Address of the new record'),
  Deprecation: text('Since when the operation is deprecated: `@` and Unix seconds'),
  Sunset: text('When it may be gone'),
  Link: text('Where to read more, and what to use in its place'),
  'Idempotency-Replayed': text('`true` when this answer was given to an earlier request with the same key'),
};

const OPENING = ['X-Request-Id', 'Platform-Version'];
const LIMITED = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'RateLimit', 'RateLimit-Policy'];
/** What every answer of an operation has, a refusal too. */
const ALWAYS = [...OPENING, 'X-Spec-Hash', ...LIMITED];

const REFUSED_WITH: Readonly<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  409: ['Retry-After'],
  412: ['ETag'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};
/** Refused before anybody has looked at which service is meant. */
const HEADERS_TOO_LARGE = 431;

/** Every read carries a tag. */
export const isConditional = ({ method }: Operation): boolean => method === 'GET';

const answersWith = ({ responses }: Operation, status: number, field: string): boolean =>
  field in ((responses[status] as { properties?: object } | null | undefined)?.properties ?? {});

/** A record that was made, or one that is made behind the answer, has an address. */
const isMade = (operation: Operation, status: number): boolean =>
  status === 201 || (status === 202 && answersWith(operation, status, 'id'));

/** Reads have a tag, and so have a record that was made or changed. */
function isTagged(operation: Operation, status: number): boolean {
  if (isConditional(operation)) return true;
  if (status === 204) return false;
  return (
    operation.errors?.includes('version_conflict') || (status === 201 && answersWith(operation, status, 'version'))
  );
}

export const headerRefs = (names: readonly string[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** The headers of a success. */
export const successHeaders = (operation: Operation, status: number): Json =>
  headerRefs([
    ...ALWAYS,
    ...(operation.deprecated ? ['Deprecation', 'Sunset', 'Link'] : []),
    ...(isTagged(operation, status) ? ['ETag'] : []),
    ...(isMade(operation, status) ? ['Location'] : []),
    ...(takesIdempotencyKey(operation) ? ['Idempotency-Replayed'] : []),
  ]);

/** The headers of a refusal. */
export const refusalHeaders = (status: number): Json =>
  headerRefs([...(status === HEADERS_TOO_LARGE ? [...OPENING, ...LIMITED] : ALWAYS), ...(REFUSED_WITH[status] ?? [])]);

/** What a read is answered whose tag is still the current one; all share it. */
export const UNCHANGED: Json = {
  description: 'Unchanged; not counted against the rate limit',
  headers: headerRefs([...ALWAYS, 'ETag']),
};

/** The body of a request, parsed as JSON unless its content type says that it is something else. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import express, { type Request, type Response } from 'express';
import { problem, type Problem } from '../contracts/problem';
import { mayBeInexact } from '../domain/exact-numbers';

const BYTES_MAX = 256 * 1024;

/** Texts whose numbers may say more than what they are parsed to. */
const suspicious = new WeakMap<object, string>();

/** The text of a request's body where it has such numbers. */
export const textOfNumbers = (request: Request): string | undefined => suspicious.get(request);

const otherCharset = ({ headers }: IncomingMessage): Problem =>
  problem('unsupported_media_type', {
    message: 'Send application/json in UTF-8, without another charset.',
    facts: { contentType: headers['content-type'] },
  });

const otherEncoding = ({ headers }: IncomingMessage): Problem =>
  problem('unsupported_media_type', {
    message: 'Send the body uncompressed, or compressed as gzip, deflate or br.',
    facts: { contentEncoding: headers['content-encoding'] },
  });

/** What the parser does not read, said with what was sent. */
function refusalOf(error: unknown, request: IncomingMessage): unknown {
  const { type } = error as { type?: string };
  if (type === 'charset.unsupported') return otherCharset(request);
  if (type === 'encoding.unsupported') return otherEncoding(request);
  return error;
}

/** JSON is UTF-8 (RFC 8259 §8.1). Bytes that are none would be stored as other text than was sent. */
function inspect(request: IncomingMessage, _response: unknown, bytes: Buffer, charset: string): void {
  if (charset !== 'utf-8') throw otherCharset(request);
  if (!isUtf8(bytes))
    throw problem('invalid_json', { message: 'The request body is not valid UTF-8; send JSON encoded as UTF-8.' });
  const text = bytes.toString();
  if (mayBeInexact(text)) suspicious.set(request, text);
}

/** JSON in any dress; the last two are what curl and fetch say when nobody told them what they send. */
const READ_AS_JSON = /^(?:[^/;\s]+\/(?:[^/;\s]+\+)?json|application\/x-www-form-urlencoded|text\/plain)$/;

const hasBody = ({ headers }: Request): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

function refuseOtherTypes(request: Request): void {
  const type = request.headers['content-type'];
  if (type === undefined || !hasBody(request)) return;
  const [name = ''] = type.split(';', 1);
  if (READ_AS_JSON.test(name.trim().toLowerCase())) return;
  throw problem('unsupported_media_type', { facts: { contentType: type } });
}

/** Reads bodies of up to `limit` bytes into `request.body`, which stays undefined where there is none. */
export function bodyReader(limit = BYTES_MAX): (request: Request, response: Response) => Promise<void> {
  const parse = express.json({ limit, strict: false, type: () => true, verify: inspect });
  return async (request, response) => {
    refuseOtherTypes(request);
    await new Promise<void>((resolve, reject) => {
      parse(request, response, (error?: unknown) => (error ? reject(refusalOf(error, request)) : resolve()));
    });
  };
}

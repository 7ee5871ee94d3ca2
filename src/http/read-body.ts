/** The body of a request, parsed as JSON whatever its content type says. */
import { isUtf8 } from 'node:buffer';
import express, { type Request, type Response } from 'express';
import { problem } from '../contracts/problem';

const BYTES_MAX = 256 * 1024;

/** Bytes that are no UTF-8 would be stored as other text than was sent. */
function refuseBrokenText(_request: unknown, _response: unknown, bytes: Buffer, charset: string): void {
  if (charset === 'utf-8' && !isUtf8(bytes))
    throw problem('invalid_json', { message: 'The request body is not valid UTF-8; send JSON encoded as UTF-8.' });
}

/** Reads bodies of up to `limit` bytes into `request.body`, which stays undefined where there is none. */
export function bodyReader(limit = BYTES_MAX): (request: Request, response: Response) => Promise<void> {
  const parse = express.json({ limit, strict: false, type: () => true, verify: refuseBrokenText });
  return (request, response) =>
    new Promise((resolve, reject) => {
      parse(request, response, (error?: unknown) => (error ? reject(error) : resolve()));
    });
}

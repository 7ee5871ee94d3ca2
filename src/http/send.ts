/** How headers and bodies leave: what Express's own `set` and `json` look up and convert for each is known here. */
import type { RequestHandler, Response } from 'express';
import { LATEST_VERSION } from '../contracts/version';
import { newId } from '../domain/ids';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Sets headers as they are given; `set` of Express looks at each for types and lists first. */
export function setHeaders(response: Response, headers: Readonly<Record<string, string>>): void {
  for (const name in headers) response.setHeader(name, headers[name] ?? '');
}

/** What every reply carries, whatever becomes of the request. */
export const openingHeaders = (requestId: string): Record<string, string> => ({
  'X-Request-Id': requestId,
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'private, no-store',
  'Platform-Version': LATEST_VERSION,
});

/** Begins a reply: an id, and what every reply carries. */
export const open = (response: Response): void => setHeaders(response, openingHeaders(newId('req')));

/** The same as a middleware. */
export const opening = (): RequestHandler => (_request, response, next) => {
  open(response);
  next();
};

/** Sends JSON text. One string for head and body leaves by one write to the socket. */
export function sendText(response: Response, status: number, text: string): void {
  response.statusCode = status;
  response.setHeader('Content-Type', JSON_TYPE);
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.end(text);
}

/** Sends a body as JSON. */
export const sendJson = (response: Response, status: number, body: unknown): void =>
  sendText(response, status, JSON.stringify(body));

/** Ends a reply that has no body. */
export function sendNothing(response: Response, status: number): void {
  response.statusCode = status;
  response.end();
}

/** The OpenAPI documents as they are served: made when first asked for, then kept with a hash that names their state. */
import type { RequestHandler } from 'express';
import type { ServiceName } from '../contracts/operation';
import { matchesTag, stateTag, weakTag } from '../domain/etag';
import { serviceDocument, wholeDocument } from './api-documents';
import { sendNothing, sendText, setHeaders } from './send';

export interface PublishedDocument {
  text: string;
  /** Opaque part of its entity tag, and `X-Spec-Hash` of every reply of the service. */
  hash: string;
}

const made = new Map<ServiceName | 'all', PublishedDocument>();

/** The document of a service, or the one over all. */
export function publishedDocument(of: ServiceName | 'all'): PublishedDocument {
  const known = made.get(of);
  if (known) return known;
  const text = `${JSON.stringify(of === 'all' ? wholeDocument() : serviceDocument(of), null, 2)}\n`;
  const published = { text, hash: stateTag(text) };
  made.set(of, published);
  return published;
}

/** A document that is built on the first request, serialised once and answered 304 while the client has it. */
export const documentHandler =
  (of: ServiceName | 'all'): RequestHandler =>
  (request, response) => {
    const { text, hash } = publishedDocument(of);
    const tag = weakTag(hash);
    setHeaders(response, { ETag: tag, 'X-Spec-Hash': hash, 'Cache-Control': 'no-cache' });
    if (matchesTag(request.headers['if-none-match'], tag)) sendNothing(response, 304);
    else sendText(response, 200, text);
  };

/** The OpenAPI documents as they are served: made when first asked for, then kept with a hash that names their state. */
import { Router } from 'express';
import type { ServiceName } from '../contracts/operation';
import { stateTag } from '../domain/etag';
import { documentedServices, serviceDocument, wholeDocument } from './api-documents';

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

/** Puts `X-Spec-Hash` on every reply below a service, so that clients see when its document changed. */
export function specHashes(): Router {
  const router = Router({ caseSensitive: true });
  for (const service of documentedServices) {
    router.use(`/${service}`, (_request, response, next) => {
      response.set('X-Spec-Hash', publishedDocument(service).hash);
      next();
    });
  }
  return router;
}

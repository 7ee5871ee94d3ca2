/** Weak entity tags: weak because proxies that compress drop strong ones. */
import { hash } from 'node:crypto';

export const weakTag = (opaque: string): string => `W/"${opaque}"`;

/** The tag of one record: it changes whenever the record's version does. */
export const recordTag = (id: string, version: number): string => `${id}.${version}`;

const digest = (text: string): string => hash('sha256', text, 'base64url').slice(0, 22);

/** The tag of a list or a document: a short hash of what identifies its state. */
export const stateTag = (...parts: unknown[]): string => digest(JSON.stringify(parts));

/** Pages of one state lead on by whichever token of theirs; a new one is sealed for each answer. */
const LEADS_ON = new Set(['continuationToken', 'next_cursor']);

/** The tag of an answer that is known by nothing but what it says. */
export const bodyTag = (body: unknown): string =>
  digest(JSON.stringify(body, (name, value: unknown) => (LEADS_ON.has(name) ? undefined : value)));

const opaqueOf = (tag: string): string => tag.trim().replace(/^W\//, '').replace(/^"|"$/g, '');

/** True when an `If-None-Match` or `If-Match` header names the tag, or is `*`. Only the opaque part counts. */
export function matchesTag(header: string | string[] | undefined, tag: string): boolean {
  const text = Array.isArray(header) ? header.join(',') : header;
  if (!text) return false;
  if (text.trim() === '*') return true;
  return text.split(',').some((candidate) => opaqueOf(candidate) === opaqueOf(tag));
}

/** True when an `If-Match` header is absent, is `*`, or names this version of the record. */
export function matchesVersion(header: string | string[] | undefined, id: string, version: number): boolean {
  const text = Array.isArray(header) ? header.join(',') : header;
  if (text === undefined || text.trim() === '*') return true;
  const wanted = recordTag(id, version);
  // A tag may carry more than the version behind another dot, such as the state of its figures.
  return text
    .split(',')
    .some((candidate) => opaqueOf(candidate) === wanted || opaqueOf(candidate).startsWith(`${wanted}.`));
}

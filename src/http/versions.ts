/** Which version of the API a request means, and the routes' ways between it and the latest. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Operation } from '../contracts/operation';
import type { Principal } from '../contracts/principal';
import { problem } from '../contracts/problem';
import type { VersionTable } from '../contracts/version';
import { passageOf, type Passage } from '../domain/versioning';
import { bodyValidator, textValidator, type Validator } from './validate';

/** A passage with the checks of the client's own shapes. */
export interface Way extends Omit<Passage, 'query' | 'body'> {
  date: string;
  query: Validator | null;
  body: Validator | null;
}

const latestOf = (versions: VersionTable): string => (versions.at(-1) ?? versions[0]).date;

/** The version in force: the header's, else the one the key is pinned to, else the latest. */
export function versionOf(header: string | string[] | undefined, principal: Principal, versions: VersionTable): string {
  const isAnswered = (asked: string): boolean => versions.some(({ date }) => date === asked);
  if (header !== undefined) {
    const asked = String(header).trim();
    if (isAnswered(asked)) return asked;
    const dates = versions.map(({ date }) => date);
    throw problem('unknown_version', {
      message: `Platform-Version: known versions are ${dates.join(', ')}; leave the header out for the one of your key.`,
      facts: { supported: dates, latest: latestOf(versions) },
    });
  }
  if (principal.kind !== 'key') return latestOf(versions);
  // A pin older than everything that is still answered gets the oldest: the one nearest to what it was made for.
  return isAnswered(principal.apiVersion) ? principal.apiVersion : versions[0].date;
}

/** The ways of one operation by version. Empty for an operation that never changed, which is nearly every one. */
export function waysOf(operation: Operation, versions: VersionTable): ReadonlyMap<string, Way> {
  const ways = versions.flatMap(({ date }): [string, Way][] => {
    const passage = passageOf(versions, operation.id, date);
    if (!passage) return [];
    const { query, body } = passage;
    const checks = { query: query ? textValidator(query) : null, body: body ? bodyValidator(body) : null };
    return [[date, { ...passage, ...checks, date }]];
  });
  return new Map(ways);
}

/** One state has a tag per shape: who changes version must not be told that nothing changed. */
export const tagIn = (tag: string, way: Way | undefined): string => (way ? `${tag}.v${way.date}` : tag);

/** The headers as handlers know them: a tag that was given out for an older shape names the same record. */
export function withPlainTags(headers: IncomingHttpHeaders, way: Way | undefined): IncomingHttpHeaders {
  const match = headers['if-match'];
  return way && match ? { ...headers, 'if-match': match.replaceAll(`.v${way.date}"`, '"') } : headers;
}

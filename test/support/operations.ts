/** Calling any operation by its contract, with a session that may do everything, for tests that run over all of them. */
import { createCast, type Cast } from '../../scripts/fuzz/cast';
import { RESOURCES } from '../../src/resources/registry';
import { readConfig } from '../../src/config';
import type { Operation } from '../../src/contracts/operation';
import { allOperations } from '../../src/http/api-documents';
import { request, type Answer, type Harness } from './harness';

export interface Parts {
  /** Value of every path parameter; that of a record that exists unless named. */
  id?: string;
  /** With the leading `?`. */
  query?: string;
  /** A string is sent as it is, anything else as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
}

export interface Everything {
  cast: Cast;
  call(operation: Operation, parts?: Parts): Promise<Answer>;
}

/** Signing in and out are left out: they would end the session the others are called with. */
export const reachable: readonly Operation[] = allOperations.filter(({ id }) => id !== 'signOut' && id !== 'signIn');

/** A tenant with a record of every resource and an owner's session. */
export async function everything({ address, store }: Harness): Promise<Everything> {
  const config = readConfig(address.env);
  const cast = await createCast({ baseUrl: address.baseUrl, config, store }, 'agents', RESOURCES);
  const [session] = cast.sessions;
  if (!session) throw new Error('the cast has no session');
  const headers = { cookie: session.cookie, 'x-csrf-token': session.csrfToken };
  return {
    cast,
    call(operation, { id, query = '', body, headers: more } = {}) {
      const place = `/${operation.service}${operation.path.replace(/:(\w+)/g, '{$1}')}`;
      const filled = operation.path
        .replace(':noteId', encodeURIComponent(id ?? cast.notes[place] ?? 'none'))
        .replace(/:\w+/g, encodeURIComponent(id ?? cast.records[place] ?? 'none'));
      const path = `/${operation.service}${filled}${query}`;
      return request(address.baseUrl, { method: operation.method, path, body, headers: { ...headers, ...more } });
    },
  };
}

/** What a body of the operation may look like: its first example, or nothing. */
export const exampleOf = ({ examples = {} }: Operation): Record<string, unknown> =>
  (Object.values(examples)[0] ?? {}) as Record<string, unknown>;

const AT_ONCE = 8;

/** Runs over all items, a few at a time. */
export async function eachOf<Item>(items: readonly Item[], run: (item: Item) => Promise<void>): Promise<void> {
  const waiting = [...items];
  const lane = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await run(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}

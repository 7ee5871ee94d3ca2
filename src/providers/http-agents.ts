/** Connection pools: one plain, one that connects only to addresses the guard let through. */
import { lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { Agent, buildConnector } from 'undici';
import { blockedAddress, type AddressGuard, type Lookup } from './addresses';

const CONNECT_TIMEOUT_MS = 10_000;
const ORIGINS_MAX = 500;

const resolveAll: Lookup = (hostname) => systemLookup(hostname, { all: true, verbatim: true });

/** Picks the pool a request belongs to. */
export interface Agents {
  pick(url: URL, guarded: boolean): Agent;
  close(): Promise<void>;
}

/**
 * The lookup the socket itself uses: what was checked is what gets connected, so a name that answers
 * differently a moment later (DNS rebinding) gains nothing. One bad address refuses the whole name.
 */
function guardedLookup(guard: AddressGuard, lookup: Lookup): LookupFunction {
  const resolveChecked = callbackify(async (hostname: string) => {
    const addresses = await lookup(hostname);
    const [first] = addresses;
    if (!first) throw Object.assign(new Error(`No address for ${hostname}`), { code: 'ENOTFOUND' });
    if (!addresses.every(({ address }) => guard(address))) throw blockedAddress(hostname);
    return { first, addresses };
  });
  return (hostname, options, callback) => {
    resolveChecked(hostname, (error, found) => {
      if (error) callback(error, '');
      else if (options.all) callback(null, found.addresses);
      else callback(null, found.first.address, found.first.family);
    });
  };
}

function guardedConnector(guard: AddressGuard, lookup: Lookup): buildConnector.connector {
  const connect = buildConnector({ timeout: CONNECT_TIMEOUT_MS, lookup: guardedLookup(guard, lookup) });
  return (options, callback) => {
    // Sockets never look up a literal, so literals are checked here.
    const literal = options.hostname.replace(/^\[(.*)\]$/, '$1');
    if (isIP(literal) !== 0 && !guard(literal)) callback(blockedAddress(literal), null);
    else connect(options, callback);
  };
}

/** An agent keeps a pool for every origin it ever met; tenants name origins, so it is replaced when it has met many. */
function rotatingAgent(create: () => Agent) {
  let agent = create();
  let origins = new Set<string>();
  return {
    pick(origin: string): Agent {
      if (!origins.has(origin) && origins.size >= ORIGINS_MAX) {
        // Closing waits for the requests under way, so nothing is cut off.
        void agent.close();
        agent = create();
        origins = new Set();
      }
      origins.add(origin);
      return agent;
    },
    close: (): Promise<void> => agent.destroy(),
  };
}

/** Builds both pools. Neither follows redirects or reads proxy settings. */
export function createAgents(guard: AddressGuard, lookup: Lookup = resolveAll): Agents {
  const limits = { connections: 50, headersTimeout: 0, bodyTimeout: 0 };
  const plain = new Agent({ ...limits, connect: { timeout: CONNECT_TIMEOUT_MS } });
  const guarded = rotatingAgent(() => new Agent({ ...limits, connect: guardedConnector(guard, lookup) }));
  return {
    pick: (url, isGuarded) => (isGuarded ? guarded.pick(url.origin) : plain),
    close: async () => {
      await Promise.all([plain.destroy(), guarded.close()]);
    },
  };
}

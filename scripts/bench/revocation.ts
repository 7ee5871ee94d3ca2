/** How long it takes to revoke a key, and whether any process still takes it once that was answered. */
import { newId } from '../../src/domain/ids';
import { SESSION_LIFETIME_MS, sessionTokens } from '../../src/services/console/session-token';
import { insertSession } from '../../src/store/sessions';
import { insertUser } from '../../src/store/users';
import { median, spread, type Figure } from './figures';
import { takingTurns, type HttpStage, type Server } from './http-stage';
import { createKey, createOrg, type Caller } from './tenants';

const KEYS = 30;
const REPLY_MS_MAX = 300;
const PATH = '/psa/api/tickets?limit=1';

/** Headers of an owner's session in the console. */
async function signIn({ database, config }: HttpStage, orgId: string): Promise<Record<string, string>> {
  const { store } = database;
  const createdAt = new Date();
  const endsAt = new Date(createdAt.getTime() + SESSION_LIFETIME_MS);
  const [userId, sessionId] = [newId('usr'), newId('ses')];
  await insertUser(store, {
    _id: userId,
    orgId,
    email: `${userId.toLowerCase()}@example.com`,
    displayName: 'Bench owner',
    role: 'owner',
    passwordHash: null,
    disabledAt: null,
    createdAt,
  });
  await insertSession(store, { _id: sessionId, orgId, userId, createdAt, expiresAt: endsAt, revokedAt: null });
  const tokens = sessionTokens(config);
  const cookie = await tokens.cookieFor({ userId, orgId, sessionId, endsAt }, createdAt);
  return { cookie: cookie.split(';', 1)[0] ?? '', 'x-csrf-token': tokens.csrfTokenFor(sessionId) };
}

interface Revoked {
  replyMs: number;
  /** Requests that were still let in after the reply. */
  admitted: number;
}

/** Every process knows the key; it is revoked at one of them, and all are asked again at once. */
async function revoke(
  { client }: HttpStage,
  servers: readonly Server[],
  key: Caller,
  session: Record<string, string>,
): Promise<Revoked> {
  const ask = () =>
    Promise.all(servers.map(({ port }) => client.ask({ port, path: PATH, headers: takingTurns([key]) })));
  const before = await ask();
  if (before.some(({ status }) => status !== 200)) throw new Error('a fresh key was refused');
  const [first] = servers;
  if (!first) throw new Error('no process to ask');
  const startedAt = performance.now();
  const path = `/console/api/api-keys/${key.keyId}`;
  const reply = await client.ask({ method: 'DELETE', port: first.port, path, headers: () => session });
  const replyMs = performance.now() - startedAt;
  if (reply.status >= 300) throw new Error(`DELETE ${path}: ${reply.status} ${reply.text}`);
  const after = await ask();
  return { replyMs, admitted: after.filter(({ status }) => status !== 401).length };
}

/** Revokes keys one after another. */
export async function measureRevocation(stage: HttpStage, servers: readonly Server[]): Promise<Figure[]> {
  const { store } = stage.database;
  const orgId = newId('org');
  await createOrg(store, orgId);
  const session = await signIn(stage, orgId);
  const revoked: Revoked[] = [];
  for (let made = 0; made < KEYS; made += 1) {
    const key = await createKey(store, stage.config, orgId);
    revoked.push(await revoke(stage, servers, key, session));
  }
  const latencies = revoked.map(({ replyMs }) => replyMs);
  return [
    {
      budget: 'T14',
      name: `${KEYS} revoked keys let in by any of ${servers.length} processes after the reply`,
      unit: 'requests',
      ours: revoked.reduce((total, { admitted }) => total + admitted, 0),
      bare: null,
      floor: { bound: 'at most', value: 0, of: 'ours' },
    },
    {
      budget: 'T14',
      name: 'revoking a key, p50',
      unit: 'ms',
      ours: median(latencies),
      bare: null,
      floor: { bound: 'at most', value: REPLY_MS_MAX, of: 'ours' },
      more: spread({ latencies }),
    },
  ];
}

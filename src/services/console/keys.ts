/** API keys of both kinds: created, edited, rotated and revoked by people in the console, never through a key. */
import type { Context } from '../../context';
import type { ApiKey, KeyStatus, UpdateApiKey } from '../../contracts/key';
import type { Handlers } from '../../contracts/operation';
import type { consoleOperations } from '../../contracts/operations/console';
import type { Principal, Tier } from '../../contracts/principal';
import { problem } from '../../contracts/problem';
import { FIRST_VERSION, LATEST_VERSION } from '../../contracts/version';
import { hashKey, lastFour, maskedKey, mintKey } from '../../domain/api-key';
import { changedFields } from '../../domain/audit';
import { openPage } from '../../domain/list-page';
import {
  changeKey,
  findKey,
  insertKeyWithin,
  listKeys,
  replaceSecret,
  revokeKey,
  type KeyRecord,
} from '../../store/keys';
import { raiseEpoch } from '../../store/guards';
import { untilWon } from '../../store/lost-race';
import { readUsage, type UsageFigures } from '../../store/usage';
import { requireFutureExpiry, requireGrantable } from './key-rules';
import { issuedHeaders, readTagOf, requireMatch, tagOf, type Headers } from './record-tags';

type KeyHandlers = Pick<
  Handlers<typeof consoleOperations, Context>,
  'listApiKeys' | 'createApiKey' | 'getApiKey' | 'updateApiKey' | 'rotateApiKey' | 'revokeApiKey'
>;

const PATH = '/console/api/api-keys';
/** Keys of an org that are not revoked. */
const KEYS_MAX = 100;
const OVERLAP_SECONDS = 86_400;
const UNUSED: UsageFigures = { totalRequests: 0, requests30d: 0, errorRate: null, lastUsedAt: null };

const isoOrNull = (moment: Date | null): string | null => moment?.toISOString() ?? null;

function statusOf(key: KeyRecord, now: Date): KeyStatus {
  if (key.revokedAt) return 'revoked';
  return key.expiresAt && key.expiresAt <= now ? 'expired' : 'active';
}

interface View {
  now: Date;
  tier: Tier;
  usage?: UsageFigures | undefined;
}

/** The record as clients see it: the hash stays behind. */
function present(key: KeyRecord, { now, tier, usage = UNUSED }: View): ApiKey {
  return {
    id: key._id,
    kind: key.kind,
    name: key.name,
    maskedKey: maskedKey(key.kind, key.last4),
    last4: key.last4,
    scopes: key.scopes,
    status: statusOf(key, now),
    tier: key.tier ?? tier,
    expiresAt: isoOrNull(key.expiresAt),
    lastUsedAt: isoOrNull(usage.lastUsedAt),
    totalRequests: usage.totalRequests,
    requests30d: usage.requests30d,
    errorRate: usage.errorRate,
    createdAt: key.createdAt.toISOString(),
    createdBy: key.createdBy,
    revokedAt: isoOrNull(key.revokedAt),
    revokedBy: key.revokedBy,
    rotatedFrom: key.rotatedFrom,
    apiVersion: key.apiVersion ?? FIRST_VERSION,
    version: key.version,
  };
}

async function presented(context: Context, principal: Principal, key: KeyRecord): Promise<ApiKey> {
  const now = context.clock.now();
  const usage = await readUsage(context.store, [key._id], now);
  return present(key, { now, tier: principal.tier, usage: usage.get(key._id) });
}

const noSuchKey = () => problem('not_found', { message: 'No such API key in this org.' });

async function ownKey(context: Context, principal: Principal, id: string): Promise<KeyRecord> {
  const key = await findKey(context.store, principal.orgId, id);
  if (!key) throw noSuchKey();
  return key;
}

function requireNotRevoked(key: KeyRecord): void {
  if (key.revokedAt) throw problem('conflict', { message: 'The key is revoked; revocation is permanent.' });
}

/** Nothing leads back from revoked or expired: a key that was refused once is never accepted again. */
function requireActive(key: KeyRecord, now: Date): void {
  requireNotRevoked(key);
  if (statusOf(key, now) === 'expired') {
    throw problem('conflict', { message: 'The key has expired; create a new one.' });
  }
}

const noRoom = () =>
  problem('conflict', {
    message: `The org has ${KEYS_MAX} keys that are not revoked; revoke one first.`,
    facts: { limit: KEYS_MAX },
  });

/** The fields a change names, as they are stored. */
const requested = ({ name, scopes, expiresAt, apiVersion }: UpdateApiKey): Parameters<typeof changeKey>[2] => ({
  ...(name === undefined ? {} : { name }),
  ...(scopes === undefined ? {} : { scopes }),
  ...(apiVersion === undefined ? {} : { apiVersion }),
  ...(expiresAt === undefined ? {} : { expiresAt: expiresAt === null ? null : new Date(expiresAt) }),
});

/** True when the key is as a change would have it. */
export const isAsAsked = (held: KeyRecord, body: UpdateApiKey): boolean =>
  changedFields(held, { ...held, ...requested(body) }).length === 0;

type Draft = Pick<KeyRecord, 'kind' | 'name' | 'scopes' | 'expiresAt' | 'rotatedFrom' | 'tier' | 'apiVersion'>;

/** Mints a key and stores what may be stored of it; the answer is the only place where the key itself appears. */
async function issue(
  context: Context,
  principal: Principal,
  draft: Draft,
  { id, isRepeat }: { id: string; isRepeat: boolean },
): Promise<{ record: KeyRecord; key: string }> {
  const key = mintKey(draft.kind);
  const secret = { hash: hashKey(context.config.secrets.keyPepper, key), last4: lastFour(key) };
  // Stored by a run that died before it could show the key: nobody has the first secret, so another takes its place.
  const unseen = isRepeat ? await replaceSecret(context.store, { _id: id, orgId: principal.orgId }, secret) : null;
  if (unseen) return { record: unseen, key };
  const createdAt = context.clock.now();
  const record: KeyRecord = {
    ...draft,
    _id: id,
    orgId: principal.orgId,
    ...secret,
    createdAt,
    createdBy: principal.id,
    revokedAt: null,
    revokedBy: null,
    version: 1,
  };
  if (!(await insertKeyWithin(context.store, record, KEYS_MAX))) throw noRoom();
  return { record, key };
}

/** Writes a change over the version that was read; a lost race is told to whoever asked with `If-Match`, and tried again for others. */
async function change(
  context: Context,
  held: KeyRecord,
  fields: Parameters<typeof changeKey>[2],
  headers: Headers,
): Promise<KeyRecord> {
  const changed = await untilWon(async (lost) => {
    const current = lost === 0 ? held : await findKey(context.store, held.orgId, held._id);
    if (!current) throw noSuchKey();
    requireMatch(headers, current);
    requireActive(current, context.clock.now());
    return changeKey(context.store, current, fields);
  });
  if (changed) return changed;
  throw problem('version_conflict');
}

/** When the key would expire had it never been rotated, unless somebody set another time since. */
const lastingExpiry = ({ expiresAt, shortened }: KeyRecord): Date | null =>
  shortened && shortened.to.getTime() === expiresAt?.getTime() ? shortened.from : expiresAt;

/** The answer that shows a key. */
const shownOnce = async (context: Context, principal: Principal, record: KeyRecord, key: string) => ({
  status: 201 as const,
  headers: issuedHeaders(PATH, record),
  body: { ...(await presented(context, principal, record)), key },
});

/** Handlers of `/console/api/api-keys`. */
export const keyHandlers: KeyHandlers = {
  async listApiKeys({ query, principal, context }) {
    const { kind, status, scope } = query;
    const page = openPage(context, query, ['api-keys', principal.orgId, kind, status, scope]);
    const { now, after, readMax } = page;
    const list = { kind, status, scope, orgId: principal.orgId, beforeId: after?.id, now, limit: readMax };
    const found = await listKeys(context.store, list);
    const { rows, ...envelope } = page.cut(found, ({ _id: id }) => ({ value: id, id }));
    const usage = await readUsage(
      context.store,
      rows.map((key) => key._id),
      now,
    );
    const items = rows.map((key) => present(key, { now, tier: principal.tier, usage: usage.get(key._id) }));
    return { status: 200, body: { items, ...envelope } };
  },

  async createApiKey({ body, principal, context, newId, isRepeat }) {
    requireGrantable(principal, body);
    const expiresAt = requireFutureExpiry(body.expiresAt, context.clock.now());
    const { kind, name, scopes } = body;
    const pinned = { rotatedFrom: null, tier: null, apiVersion: LATEST_VERSION };
    const draft: Draft = { kind, name, scopes, expiresAt: expiresAt ?? null, ...pinned };
    const { record, key } = await issue(context, principal, draft, { id: newId('key'), isRepeat });
    return shownOnce(context, principal, record, key);
  },

  async getApiKey({ params, principal, context }) {
    const key = await ownKey(context, principal, params.id);
    const body = await presented(context, principal, key);
    return { status: 200, etag: readTagOf(key, body), body };
  },

  async updateApiKey({ params, body, principal, context, headers, isRepeat }) {
    const held = await ownKey(context, principal, params.id);
    // An earlier run of this request has made the change already, so the version it was meant for is gone.
    const isMade = isRepeat && isAsAsked(held, body);
    if (isMade) {
      requireNotRevoked(held);
      // That run may have died before other processes were told.
      await raiseEpoch(context.store, held.orgId);
    } else {
      requireMatch(headers, held);
      requireActive(held, context.clock.now());
    }
    if (body.scopes) requireGrantable(principal, { kind: held.kind, scopes: body.scopes });
    requireFutureExpiry(body.expiresAt, context.clock.now());
    const fields = requested(body);
    const changed = isMade ? held : await change(context, held, fields, headers);
    return { status: 200, etag: tagOf(changed), body: await presented(context, principal, changed) };
  },

  async rotateApiKey({ params, body, principal, context, headers, newId, isRepeat }) {
    const held = await ownKey(context, principal, params.id);
    const id = newId('key');
    // An earlier run of this request has changed the version it was meant for, and may have ended the key.
    const isBegun = isRepeat && (await findKey(context.store, principal.orgId, id)) !== null;
    if (isBegun) requireNotRevoked(held);
    else {
      requireMatch(headers, held);
      requireActive(held, context.clock.now());
    }
    requireGrantable(principal, held);
    const { kind, name, scopes, tier, apiVersion = FIRST_VERSION } = held;
    const successor = { kind, name, scopes, tier, apiVersion, expiresAt: lastingExpiry(held), rotatedFrom: held._id };
    // The successor first: a crash in between leaves two working keys, never none.
    const { record, key } = await issue(context, principal, successor, { id, isRepeat });
    const overlapMs = (body.overlapSeconds ?? OVERLAP_SECONDS) * 1_000;
    await shorten(context, held, new Date(context.clock.now().getTime() + overlapMs));
    return shownOnce(context, principal, record, key);
  },

  async revokeApiKey({ params, principal, context, headers }) {
    const held = await ownKey(context, principal, params.id);
    if (!held.revokedAt) requireMatch(headers, held);
    await revokeKey(context.store, held, { id: principal.id, at: context.clock.now() });
    return { status: 204 };
  },
};

/** Ends the old key at `endsAt` at the latest, whatever else is being edited about it. */
async function shorten(context: Context, held: KeyRecord, endsAt: Date): Promise<void> {
  const ended = await untilWon(async (lost) => {
    const current = lost === 0 ? held : await findKey(context.store, held.orgId, held._id);
    if (!current || current.revokedAt || (current.expiresAt && current.expiresAt <= endsAt)) return held;
    const shortened = { to: endsAt, from: lastingExpiry(current) };
    return changeKey(context.store, current, { expiresAt: endsAt, shortened });
  });
  if (!ended) throw new Error(`The end of the key ${held._id} could not be written`);
}

/** The operations on keys that leave an entry in the audit trail before they are answered. */
import type { Context } from '../../context';
import type { ApiKey } from '../../contracts/key';
import type { AuditEntry } from '../../contracts/audit';
import type { Handlers } from '../../contracts/operation';
import type { consoleOperations } from '../../contracts/operations/console';
import { FIRST_VERSION } from '../../contracts/version';
import { changedFields } from '../../domain/audit';
import { audit, isUntold, type Asked } from '../../store/audit-trail';
import { findKey, type KeyRecord } from '../../store/keys';
import { isAsAsked, keyHandlers } from './keys';
import { mayFollow } from './record-tags';

type Update = Parameters<typeof keyHandlers.updateApiKey>[0];
type AuditedKeys = Pick<
  Handlers<typeof consoleOperations, Context>,
  'createApiKey' | 'updateApiKey' | 'rotateApiKey' | 'revokeApiKey'
>;

const targetOf = (id: string, name: string | null): AuditEntry['target'] => ({ kind: 'api_key', id, name });

/** What may be told of a key: never its text, its hash or a part of either. */
const factsOf = ({ kind, scopes, expiresAt }: Pick<ApiKey, 'kind' | 'scopes' | 'expiresAt'>) => ({
  kind,
  scopes,
  expiresAt,
});

const editable = ({ name, scopes, expiresAt, apiVersion = FIRST_VERSION }: KeyRecord): Record<string, unknown> => ({
  name,
  scopes,
  expiresAt: expiresAt?.toISOString() ?? null,
  apiVersion,
});

const keyOf = ({ context, principal }: Asked, id: string): Promise<KeyRecord | null> =>
  findKey(context.store, principal.orgId, id);

/** True when a run of the same change, which nobody answered, has made the key what it is. */
const isUnanswered = async (call: Update, before: KeyRecord): Promise<boolean> =>
  isAsAsked(before, call.body) &&
  mayFollow(call.headers, before) &&
  // Its last version may be that of a rotation.
  !before.shortened &&
  isUntold(call, { target: targetOf(before._id, null), version: before.version }, ['api_key.updated']);

/** The handlers of the same names, each followed by its entry. */
export const auditedKeys: AuditedKeys = {
  async createApiKey(call) {
    const reply = await keyHandlers.createApiKey(call);
    const { body: key } = reply;
    await audit(call, {
      action: 'api_key.created',
      target: targetOf(key.id, key.name),
      details: factsOf(key),
      cause: [],
    });
    return reply;
  },

  async updateApiKey(asked) {
    const before = await keyOf(asked, asked.params.id);
    const isRepeat = asked.isRepeat || (before !== null && (await isUnanswered(asked, before)));
    const call = { ...asked, isRepeat };
    const reply = await keyHandlers.updateApiKey(call);
    const { body: key } = reply;
    const named = Object.keys(call.body);
    const after = { name: key.name, scopes: key.scopes, expiresAt: key.expiresAt, apiVersion: key.apiVersion };
    // A run that repeats an unanswered one may find its change made.
    const differing = before && !call.isRepeat ? changedFields(editable(before), after) : named;
    const fields = differing.filter((field) => named.includes(field));
    await audit(call, {
      action: 'api_key.updated',
      target: targetOf(key.id, key.name),
      details: { fields, version: key.version, ...factsOf(key), apiVersion: key.apiVersion },
      cause: [key.version],
    });
    return reply;
  },

  async rotateApiKey(call) {
    const reply = await keyHandlers.rotateApiKey(call);
    const { body: successor } = reply;
    const old = await keyOf(call, call.params.id);
    await audit(call, {
      action: 'api_key.rotated',
      target: targetOf(call.params.id, successor.name),
      details: { successorId: successor.id, endsAt: old?.expiresAt?.toISOString() ?? null },
      cause: [successor.id],
    });
    return reply;
  },

  async revokeApiKey(call) {
    const reply = await keyHandlers.revokeApiKey(call);
    const key = await keyOf(call, call.params.id);
    // Revoking again changes nothing: the entry belongs to whoever came first.
    if (key?.revokedBy === call.principal.id) {
      await audit(call, { action: 'api_key.revoked', target: targetOf(key._id, key.name), cause: [] });
    }
    return reply;
  },
};

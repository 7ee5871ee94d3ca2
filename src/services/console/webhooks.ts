/** Webhook endpoints: registered, changed, given new secrets and switched on again. */
import type { Context } from '../../context';
import type { Handlers } from '../../contracts/operation';
import type { webhookOperations } from '../../contracts/operations/webhooks';
import type { Principal } from '../../contracts/principal';
import { withSuggestion, problem } from '../../contracts/problem';
import type { CreateWebhook, UpdateWebhook, WebhookSettings } from '../../contracts/webhook';
import { LATEST_VERSION } from '../../contracts/version';
import { webhookCatalog } from '../../catalog/agent-events';
import { changedFields } from '../../domain/audit';
import { openPage } from '../../domain/list-page';
import { checkWebhook } from '../../domain/webhooks/check';
import { boundTo, secretsInForce } from '../../domain/webhooks/secrets';
import { mintWebhookSecret } from '../../domain/webhooks/signature';
import {
  changeWebhook,
  findWebhook,
  insertWebhook,
  listWebhooks,
  removeWebhook,
  type StoredSecret,
  type WebhookChange,
  type WebhookRecord,
} from '../../store/webhooks';
import { takeBackPlaces } from '../../store/deliveries';
import { raiseEpoch } from '../../store/guards';
import { untilWon } from '../../store/lost-race';
import { issuedHeaders, readTagOf, requireMatch, tagOf, type Headers } from './record-tags';
import { eventTypeEntries, presented } from './webhook-view';

type Names =
  | 'listWebhooks'
  | 'createWebhook'
  | 'getWebhook'
  | 'updateWebhook'
  | 'deleteWebhook'
  | 'rotateWebhookSecret'
  | 'enableWebhook'
  | 'disableWebhook'
  | 'listEventTypes';
type WebhookHandlers = Pick<Handlers<typeof webhookOperations, Context>, Names>;

const PATH = '/console/api/webhooks';
/** Endpoints of an org. */
export const WEBHOOKS_MAX = 20;
const OVERLAP_SECONDS = 86_400;
/** Secrets that sign at the same time: the current one and those that run out. */
const SECRETS_MAX = 5;

export const noSuchWebhook = () => problem('not_found', { message: 'No such webhook in this org.' });

/** The org's endpoint, or a refusal. */
export async function ownWebhook(context: Context, { orgId }: Principal, id: string): Promise<WebhookRecord> {
  const record = await findWebhook(context.store, orgId, id);
  if (!record) throw noSuchWebhook();
  return record;
}

function requireValid(
  context: Context,
  settings: Pick<WebhookSettings, 'eventTypes' | 'filters'> & { url?: string },
): void {
  const findings = checkWebhook(settings, { catalog: webhookCatalog, allowLoopback: context.config.webhooks.loopback });
  const [first] = findings;
  if (!first) return;
  const message =
    findings.length === 1 ? `${first.path}: ${withSuggestion(first)}` : `${findings.length} fields are not valid`;
  throw problem('validation_error', { message, findings });
}

/** True when the endpoint is as a change would have it. */
export const isAsAsked = (held: WebhookRecord, body: UpdateWebhook): boolean =>
  changedFields(held, { ...held, ...body }).length === 0;

/** What an owner may leave out. */
const settingsOf = (body: CreateWebhook): WebhookSettings => ({
  description: '',
  filters: [],
  payload: 'full',
  format: 'standard',
  ordered: false,
  ratePerMinute: null,
  apiVersion: LATEST_VERSION,
  ...body,
});

/** Writes a change over the version that was read; a lost race is told to whoever asked with `If-Match`. */
async function change(
  context: Context,
  held: WebhookRecord,
  make: (current: WebhookRecord) => WebhookChange,
  headers: Headers,
): Promise<WebhookRecord> {
  const changed = await untilWon(async (lost) => {
    const current = lost === 0 ? held : await findWebhook(context.store, held.orgId, held._id);
    if (!current) throw noSuchWebhook();
    requireMatch(headers, current);
    return changeWebhook(context.store, current, make(current));
  });
  if (changed) return changed;
  throw problem('version_conflict');
}

const noRoom = () =>
  problem('conflict', {
    message: `The org has ${WEBHOOKS_MAX} webhook endpoints; delete one first.`,
    facts: { limit: WEBHOOKS_MAX, name: 'webhook_endpoints' },
  });

function sealedSecret(context: Context, place: Pick<WebhookRecord, '_id' | 'orgId'>, issue: string) {
  const secret = mintWebhookSecret();
  const sealed = context.secrets.seal(secret, boundTo(place));
  const stored: StoredSecret = { sealed, createdAt: context.clock.now(), endsAt: null, issue };
  return { secret, stored };
}

async function newRecord(context: Context, principal: Principal, body: CreateWebhook, id: string) {
  const now = context.clock.now();
  const place = { _id: id, orgId: principal.orgId };
  const { secret, stored } = sealedSecret(context, place, id);
  const record: WebhookRecord = {
    ...place,
    ...settingsOf(body),
    status: 'active',
    disabledReason: null,
    disabledAt: null,
    secrets: [stored],
    failingSince: null,
    failures: 0,
    noticeStage: 0,
    noticeDue: false,
    unannounced: false,
    freeAtMs: 0,
    createdAt: now,
    createdBy: principal.id,
    updatedAt: now,
    version: 1,
  };
  if (!(await insertWebhook(context.store, record, WEBHOOKS_MAX))) throw noRoom();
  return { record, secret };
}

/** Stored by a run that died before it could show the secret: nobody has it, so another takes its place. */
async function reissued(context: Context, record: WebhookRecord, issue: string) {
  const { secret, stored } = sealedSecret(context, record, issue);
  const secrets = record.secrets.map((held) => (held.issue === issue ? stored : held));
  return { record: await change(context, record, () => ({ secrets }), {}), secret };
}

function rotated(
  context: Context,
  current: WebhookRecord,
  stored: StoredSecret,
  overlapSeconds: number,
): WebhookChange {
  const now = context.clock.now();
  const endsAt = new Date(now.getTime() + overlapSeconds * 1_000);
  const old = secretsInForce(current.secrets, now)
    .map((held) => ({ ...held, endsAt: held.endsAt && held.endsAt < endsAt ? held.endsAt : endsAt }))
    .filter((held) => held.endsAt > now);
  if (old.length >= SECRETS_MAX) {
    throw problem('conflict', {
      message: `${SECRETS_MAX} secrets of this webhook are still in force; wait until one has run out, or rotate with overlapSeconds 0.`,
      facts: { limit: SECRETS_MAX, name: 'webhook_secrets' },
    });
  }
  return { secrets: [stored, ...old], updatedAt: now };
}

/** The answer that shows a secret. */
const shownOnce = async (context: Context, { record, secret }: { record: WebhookRecord; secret: string }) => ({
  status: 201 as const,
  headers: issuedHeaders(PATH, record),
  body: { ...(await presented(context, record)), secret },
});

type Call = Parameters<WebhookHandlers['enableWebhook']>[0];

/** Switches an endpoint on or off; one that is there already stays as it is. */
async function switched(
  { params, principal, context, headers, isRepeat }: Call,
  { isThere, change: fields }: { isThere: (held: WebhookRecord) => boolean; change: WebhookChange },
) {
  const held = await ownWebhook(context, principal, params.id);
  const isDone = isThere(held);
  // An earlier run of this request has made the change, so the version it was meant for is gone.
  if (!(isRepeat && isDone)) requireMatch(headers, held);
  const record = isDone
    ? held
    : await change(context, held, () => ({ ...fields, updatedAt: context.clock.now() }), headers);
  return { status: 200 as const, etag: tagOf(record), body: await presented(context, record) };
}

/** Handlers of `/console/api/webhooks` and of the event types they can ask for. */
export const webhookHandlers: WebhookHandlers = {
  async listWebhooks({ query, principal, context }) {
    const { status } = query;
    const page = openPage(context, query, ['webhooks', principal.orgId, status]);
    const list = { limit: page.readMax, status, beforeId: page.after?.id };
    const found = await listWebhooks(context.store, principal.orgId, list);
    const { rows, ...envelope } = page.cut(found, ({ _id: id }) => ({ value: id, id }));
    const items = await Promise.all(rows.map((record) => presented(context, record)));
    return { status: 200, body: { items, ...envelope } };
  },

  async createWebhook({ body, principal, context, newId, isRepeat }) {
    requireValid(context, { filters: [], ...body });
    const id = newId('whk');
    const made = isRepeat ? await findWebhook(context.store, principal.orgId, id) : null;
    const { record, secret } = made ? await reissued(context, made, id) : await newRecord(context, principal, body, id);
    return shownOnce(context, { record, secret });
  },

  async getWebhook({ params, principal, context }) {
    const record = await ownWebhook(context, principal, params.id);
    const body = await presented(context, record);
    const { stats24h, failingSince, secrets } = body;
    return { status: 200, etag: readTagOf(record, stats24h, failingSince, secrets.length), body };
  },

  async updateWebhook({ params, body, principal, context, headers, isRepeat }) {
    const held = await ownWebhook(context, principal, params.id);
    // An earlier run of this request has made the change already, so the version it was meant for is gone.
    const isMade = isRepeat && isAsAsked(held, body);
    if (!isMade) requireMatch(headers, held);
    // That run may have died before other processes were told.
    else await raiseEpoch(context.store, held.orgId);
    const checked = { eventTypes: body.eventTypes ?? held.eventTypes, filters: body.filters ?? held.filters };
    requireValid(context, { ...checked, ...(body.url === undefined ? {} : { url: body.url }) });
    const fields: WebhookChange = {
      ...body,
      // Places that were given out at the old rate are taken back below.
      ...(body.ratePerMinute === undefined ? {} : { freeAtMs: 0 }),
      updatedAt: context.clock.now(),
    };
    const record = isMade ? held : await change(context, held, () => fields, headers);
    if (body.ratePerMinute !== undefined) await takeBackPlaces(context.store, record._id, context.clock.now());
    return { status: 200, etag: tagOf(record), body: await presented(context, record) };
  },

  async deleteWebhook({ params, principal, context, headers }) {
    const removed = await untilWon(async () => {
      const held = await ownWebhook(context, principal, params.id);
      requireMatch(headers, held);
      return (await removeWebhook(context.store, held)) ? held : null;
    });
    if (removed) return { status: 204 };
    throw problem('version_conflict');
  },

  async rotateWebhookSecret({ params, body, principal, context, headers, newId, isRepeat }) {
    const held = await ownWebhook(context, principal, params.id);
    const issue = newId('whs');
    const isBegun = isRepeat && held.secrets.some((secret) => secret.issue === issue);
    if (isBegun) return shownOnce(context, await reissued(context, held, issue));
    const { secret, stored } = sealedSecret(context, held, issue);
    const overlap = body.overlapSeconds ?? OVERLAP_SECONDS;
    const record = await change(context, held, (current) => rotated(context, current, stored, overlap), headers);
    return shownOnce(context, { record, secret });
  },

  enableWebhook: (call) =>
    switched(call, {
      isThere: ({ status, failingSince }) => status === 'active' && failingSince === null,
      change: {
        status: 'active',
        disabledReason: null,
        disabledAt: null,
        failingSince: null,
        failures: 0,
        noticeStage: 0,
        noticeDue: false,
      },
    }),

  // Its event is published; nobody is mailed about what an owner has done.
  disableWebhook(call) {
    const now = call.context.clock.now();
    return switched(call, {
      isThere: ({ status }) => status === 'disabled',
      change: {
        status: 'disabled',
        disabledReason: 'by_user',
        disabledAt: now,
        lastOff: { at: now, reason: 'by_user' },
        unannounced: true,
        noticeDue: false,
      },
    });
  },

  listEventTypes: () => Promise.resolve({ status: 200, body: { items: eventTypeEntries } }),
};

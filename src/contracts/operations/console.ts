/** The console's own routes: signing in, API keys, the audit trail and the live state of the limits. */
import { AUDIT_ACTIONS, AuditEntry, AuditVerification } from '../audit';
import {
  ApiKey, CreateApiKey, DeprecatedOperation, KeyUsage, KeyUsageQuery, IssuedApiKey, KeyKinds, KEY_STATUSES, RotateApiKey, UpdateApiKey,
} from '../key';
import { operation } from '../operation';
import { ItemsPage, Limit } from '../page';
import { MAIL_SCOPES, PRODUCT_SCOPES, type Access } from '../principal';
import { Closed, Enum, Id, Timestamp, Type } from '../schema';
import { RateLimitState, Session, SignIn } from '../session';
import { webhookOperations } from './webhooks';

const manageKeys: Access = { kind: 'session', permission: 'keys:manage' };
const readAudit: Access = { kind: 'session', permission: 'audit:read' };
const ownSession: Access = { kind: 'session', permission: 'session:own' };
const byId = Closed({ id: Id() });

const session = {
  signIn: operation({
    id: 'signIn', service: 'console', method: 'POST', path: '/api/session', tag: 'Session',
    summary: 'Sign in with e-mail and password (development mode only)',
    description: 'Sets the session cookie. Ten wrong passwords in 15 minutes close the door for this address and e-mail.',
    access: { kind: 'public' },
    body: SignIn, examples: { owner: { email: 'owner@demo.test', password: 'the password `npm run dev` prints' } },
    responses: { 200: Session }, errors: ['unauthorized', 'not_found', 'csrf_failed'],
  }),
  getSession: operation({
    id: 'getSession', service: 'console', method: 'GET', path: '/api/session', tag: 'Session',
    summary: 'Read the own session', access: ownSession, unmetered: true,
    responses: { 200: Session },
  }),
  signOut: operation({
    id: 'signOut', service: 'console', method: 'DELETE', path: '/api/session', tag: 'Session',
    summary: 'End the session on every process', access: ownSession, unmetered: true,
    responses: { 204: null }, errors: ['csrf_failed'],
  }),
};

const keys = {
  listApiKeys: operation({
    id: 'listApiKeys', service: 'console', method: 'GET', path: '/api/api-keys', tag: 'API keys',
    summary: 'List the API keys of the org, newest first; revoked ones stay listed',
    access: manageKeys,
    query: Closed({
      kind: Type.Optional(KeyKinds),
      status: Type.Optional(Enum(KEY_STATUSES)),
      scope: Type.Optional(Enum([...PRODUCT_SCOPES, ...MAIL_SCOPES])),
      limit: Limit,
      continuationToken: Type.Optional(Type.String({ maxLength: 1_000 })),
    }),
    responses: { 200: ItemsPage(ApiKey) }, errors: ['invalid_cursor'],
  }),
  createApiKey: operation({
    id: 'createApiKey', service: 'console', method: 'POST', path: '/api/api-keys', tag: 'API keys',
    summary: 'Create a key; `key` is shown this once',
    access: manageKeys,
    body: CreateApiKey,
    examples: {
      platform: { kind: 'platform', name: 'Reporting sync', scopes: ['PSA', 'CRM'], expiresAt: '2099-12-31T00:00:00.000Z' },
      mail: { kind: 'mail', name: 'Password reset mails', scopes: ['send'] },
    },
    responses: { 201: IssuedApiKey }, shownOnce: 'key', errors: ['conflict', 'csrf_failed'],
  }),
  getApiKey: operation({
    id: 'getApiKey', service: 'console', method: 'GET', path: '/api/api-keys/:id', tag: 'API keys',
    summary: 'Read one key', access: manageKeys, params: byId,
    responses: { 200: ApiKey }, errors: ['not_found'],
  }),
  updateApiKey: operation({
    id: 'updateApiKey', service: 'console', method: 'PATCH', path: '/api/api-keys/:id', tag: 'API keys',
    summary: 'Change name, scopes, expiry or API version; in force when the reply is sent',
    description: 'Only the fields sent are changed; `expiresAt: null` removes the expiry. The key value and its kind never change, and a key that has expired or was revoked is not changed any more: create a new one. `If-Match` is honoured.',
    access: manageKeys, params: byId, body: UpdateApiKey,
    examples: { scopes: { scopes: ['PSA'] } },
    responses: { 200: ApiKey }, errors: ['not_found', 'conflict', 'version_conflict', 'csrf_failed'],
  }),
  rotateApiKey: operation({
    id: 'rotateApiKey', service: 'console', method: 'POST', path: '/api/api-keys/:id/rotate', tag: 'API keys',
    summary: 'Issue a successor; the old key goes on for `overlapSeconds`',
    access: manageKeys, params: byId, body: RotateApiKey,
    examples: { hour: { overlapSeconds: 3_600 } },
    responses: { 201: IssuedApiKey }, shownOnce: 'key', errors: ['not_found', 'conflict', 'version_conflict', 'csrf_failed'],
  }),
  revokeApiKey: operation({
    id: 'revokeApiKey', service: 'console', method: 'DELETE', path: '/api/api-keys/:id', tag: 'API keys',
    summary: 'Revoke a key for good; refused everywhere when the reply is sent',
    description: 'It stays readable, with `revokedAt`, and so does its usage.',
    access: manageKeys, params: byId,
    responses: { 204: null }, errors: ['not_found', 'version_conflict', 'csrf_failed'],
  }),
};

const usage = {
  getApiKeyUsage: operation({
    id: 'getApiKeyUsage', service: 'console', method: 'GET', path: '/api/api-keys/:id/usage', tag: 'API keys',
    summary: 'Read what a key was used for, by the hour or by the day',
    description: 'Figures are stored every two seconds and kept 90 days. At most 31 days by the hour, 90 by the day.',
    access: manageKeys, params: byId, query: KeyUsageQuery,
    responses: { 200: KeyUsage }, errors: ['not_found'],
  }),
  listDeprecations: operation({
    id: 'listDeprecations', service: 'console', method: 'GET', path: '/api/deprecations', tag: 'API keys',
    summary: 'List deprecated operations with the keys that still use them',
    access: manageKeys,
    responses: { 200: Type.Object({ items: Type.Array(DeprecatedOperation) }) },
  }),
};

const audit = {
  listAuditLog: operation({
    id: 'listAuditLog', service: 'console', method: 'GET', path: '/api/audit-log', tag: 'Audit',
    summary: 'List who did what in the org, newest first; owners and admins only',
    description: 'Each entry carries the hash of the one before it. Filters are exact; `from` and `to` are inclusive.',
    access: readAudit,
    query: Closed({
      action: Type.Optional(Enum(AUDIT_ACTIONS)),
      actor: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'Id of who did it' })),
      target: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'Id of what it was done to' })),
      from: Type.Optional(Timestamp()),
      to: Type.Optional(Timestamp()),
      limit: Limit,
      continuationToken: Type.Optional(Type.String({ maxLength: 1_000 })),
    }),
    responses: { 200: ItemsPage(AuditEntry) }, errors: ['invalid_cursor'],
  }),
  verifyAuditLog: operation({
    id: 'verifyAuditLog', service: 'console', method: 'GET', path: '/api/audit-log/verification', tag: 'Audit',
    summary: 'Check that the audit trail is whole, or name the first entry that is wrong',
    description: 'Walks 100,000 entries at most; a longer trail is continued with `fromSequence`.',
    access: readAudit,
    query: Closed({ fromSequence: Type.Optional(Type.Integer({ minimum: 1 })) }),
    responses: { 200: AuditVerification }, errors: ['not_found'],
  }),
};

const limits = {
  getRateLimit: operation({
    id: 'getRateLimit', service: 'console', method: 'GET', path: '/api/rate-limit', tag: 'Limits',
    summary: 'The live state of every limit that applies to the caller; not counted',
    access: { kind: 'product', scopes: PRODUCT_SCOPES, permission: 'session:own' }, unmetered: true,
    responses: { 200: RateLimitState },
  }),
};

/** Every route of the console service that is not a product resource. */
export const consoleOperations = { ...session, ...keys, ...usage, ...audit, ...limits, ...webhookOperations };

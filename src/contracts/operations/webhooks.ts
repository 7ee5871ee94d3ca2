/** Webhook endpoints, their deliveries and the log of events, below the console. */
import { operation } from '../operation';
import { ItemsPage, Limit } from '../page';
import type { Access } from '../principal';
import { Closed, Enum, Id, Timestamp, Type } from '../schema';
import * as shapes from '../webhook';

const read: Access = { kind: 'product', scopes: ['Console'], permission: 'webhooks:read' };
const manage: Access = { kind: 'product', scopes: ['Console'], permission: 'webhooks:manage' };
const byId = Closed({ id: Id() });
const continuationToken = Type.Optional(Type.String({ maxLength: 1_000 }));
const tag = 'Webhooks';

const endpoints = {
  listWebhooks: operation({
    id: 'listWebhooks', service: 'console', method: 'GET', path: '/api/webhooks', tag,
    summary: 'List the webhook endpoints of the org, newest first', access: read,
    query: Closed({ status: Type.Optional(Enum(shapes.WEBHOOK_STATUSES)), limit: Limit, continuationToken }),
    responses: { 200: ItemsPage(shapes.Webhook) }, errors: ['invalid_cursor'],
  }),
  createWebhook: operation({
    id: 'createWebhook', service: 'console', method: 'POST', path: '/api/webhooks', tag,
    summary: 'Register an endpoint; `secret` is shown this once',
    description: 'Deliveries are signed as Standard Webhooks says; any of its libraries verifies them. An org has at most 20 endpoints.',
    access: manage, body: shapes.CreateWebhook,
    examples: {
      tickets: { url: 'https://hooks.example.com/signalbox', eventTypes: ['psa:ticket.*'] },
      filtered: {
        url: 'https://hooks.example.com/urgent', eventTypes: ['psa:ticket.escalated'], ordered: true,
        filters: [{ field: 'priority', operator: 'in', value: ['high', 'critical'] }],
      },
    },
    responses: { 201: shapes.IssuedWebhook }, shownOnce: 'secret', errors: ['conflict', 'csrf_failed'],
  }),
  getWebhook: operation({
    id: 'getWebhook', service: 'console', method: 'GET', path: '/api/webhooks/:id', tag,
    summary: 'Read one endpoint', access: read, params: byId,
    responses: { 200: shapes.Webhook }, errors: ['not_found'],
  }),
  updateWebhook: operation({
    id: 'updateWebhook', service: 'console', method: 'PATCH', path: '/api/webhooks/:id', tag,
    summary: 'Change an endpoint; in force for every event after the reply',
    description: 'Only the fields sent are changed. `If-Match` is honoured.',
    access: manage, params: byId, body: shapes.UpdateWebhook, examples: { slower: { ratePerMinute: 60 } },
    responses: { 200: shapes.Webhook }, errors: ['not_found', 'version_conflict', 'csrf_failed'],
  }),
  deleteWebhook: operation({
    id: 'deleteWebhook', service: 'console', method: 'DELETE', path: '/api/webhooks/:id', tag,
    summary: 'Remove an endpoint; what waits for it is not sent any more', access: manage, params: byId,
    responses: { 204: null }, errors: ['not_found', 'version_conflict', 'csrf_failed'],
  }),
  rotateWebhookSecret: operation({
    id: 'rotateWebhookSecret', service: 'console', method: 'POST', path: '/api/webhooks/:id/rotate-secret', tag,
    summary: 'Issue a new secret; the old one signs along for `overlapSeconds`',
    access: manage, params: byId, body: shapes.RotateWebhookSecret, examples: { hour: { overlapSeconds: 3_600 } },
    responses: { 201: shapes.IssuedWebhook }, shownOnce: 'secret',
    errors: ['not_found', 'conflict', 'version_conflict', 'csrf_failed'],
  }),
  enableWebhook: operation({
    id: 'enableWebhook', service: 'console', method: 'POST', path: '/api/webhooks/:id/enable', tag,
    summary: 'Switch an endpoint on again; its failures are forgotten', access: manage, params: byId,
    responses: { 200: shapes.Webhook }, errors: ['not_found', 'version_conflict', 'csrf_failed'],
  }),
  disableWebhook: operation({
    id: 'disableWebhook', service: 'console', method: 'POST', path: '/api/webhooks/:id/disable', tag,
    summary: 'Switch an endpoint off; what comes meanwhile is kept as `skipped` for 30 days',
    access: manage, params: byId,
    responses: { 200: shapes.Webhook }, errors: ['not_found', 'version_conflict', 'csrf_failed'],
  }),
  listEventTypes: operation({
    id: 'listEventTypes', service: 'console', method: 'GET', path: '/api/event-types', tag,
    summary: 'List every event type an endpoint can ask for, with its filterable fields', access: read,
    responses: { 200: Type.Object({ items: Type.Array(shapes.EventTypeEntry) }) },
  }),
};

const deliveries = {
  testWebhook: operation({
    id: 'testWebhook', service: 'console', method: 'POST', path: '/api/webhooks/:id/test', tag,
    summary: 'Send a sample event now and answer how it went',
    description: 'One attempt, also to a disabled endpoint; it is neither kept nor counted. `data.test` is true.',
    access: manage, params: byId, body: shapes.TestWebhook, examples: { ticket: { eventType: 'psa:ticket.created' } },
    responses: { 200: shapes.TestedWebhook }, errors: ['not_found', 'csrf_failed'],
  }),
  listWebhookDeliveries: operation({
    id: 'listWebhookDeliveries', service: 'console', method: 'GET', path: '/api/webhooks/:id/deliveries', tag,
    summary: 'List what was sent to an endpoint, newest first; kept for 30 days',
    description: '`from` and `to` are inclusive and about the creation of the delivery.',
    access: read, params: byId,
    query: Closed({
      status: Type.Optional(Enum(shapes.DELIVERY_STATUSES)),
      eventType: Type.Optional(Type.String({ minLength: 1, maxLength: 170 })),
      from: Type.Optional(Timestamp()), to: Type.Optional(Timestamp()), limit: Limit, continuationToken,
    }),
    responses: { 200: ItemsPage(shapes.WebhookDelivery) }, errors: ['not_found', 'invalid_cursor'],
  }),
  retryWebhookDelivery: operation({
    id: 'retryWebhookDelivery', service: 'console', method: 'POST', path: '/api/deliveries/:id/retry', tag,
    summary: 'Send a delivery again at once, with the whole schedule behind it', access: manage, params: byId,
    responses: { 202: shapes.WebhookDelivery }, errors: ['not_found', 'conflict', 'csrf_failed'],
  }),
  replayWebhook: operation({
    id: 'replayWebhook', service: 'console', method: 'POST', path: '/api/webhooks/:id/replay', tag,
    summary: 'Send what failed or was skipped in a span of time',
    description: 'The `webhook-id` stays the same, so a receiver that keeps ids sees each event once.',
    access: manage, params: byId, body: shapes.ReplayWebhook,
    examples: { outage: { from: '2026-11-20T00:00:00.000Z', to: '2026-11-21T00:00:00.000Z', status: ['failed', 'skipped'] } },
    responses: { 202: shapes.WebhookReplay }, errors: ['not_found', 'conflict', 'csrf_failed'],
  }),
};

const feed = {
  readEventLog: operation({
    id: 'readEventLog', service: 'console', method: 'GET', path: '/api/events', tag,
    summary: 'Read the log of events, oldest first; 30 days of it',
    description: 'Send `continuationToken` back, also when `hasMore` is false: it then leads to what comes next; `after` is another name for it. An event appears ten seconds after it happened at the latest, and none ever appears behind a position that was handed out.',
    access: { kind: 'product', scopes: ['Console'], permission: 'webhooks:read' },
    query: Closed({
      continuationToken, after: Type.Optional(Type.String({ maxLength: 1_000, description: 'The same as `continuationToken`; one of them' })),
      eventTypes: Type.Optional(Type.String({ minLength: 1, maxLength: 2_000, description: 'Event types and groups, separated by commas' })),
      resourceId: Type.Optional(Id()), limit: Limit,
    }),
    responses: { 200: ItemsPage(shapes.FeedEvent) }, errors: ['invalid_cursor'],
  }),
};

/** Every route about webhooks. */
export const webhookOperations = { ...endpoints, ...deliveries, ...feed };

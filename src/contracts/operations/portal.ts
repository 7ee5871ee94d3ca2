/** The portal's own routes: how client users get a token, keep it and give it up. */
import { operation } from '../operation';
import { ItemsPage, Limit } from '../page';
import { IssuedPortalToken, PortalSession, PortalSignIn, PortalSignInReceipt, RedeemCode } from '../portal';
import type { Access } from '../principal';
import { Closed, Id, Type } from '../schema';

const staff: Access = { kind: 'product', scopes: ['Portal'], permission: 'portal:sessions' };
const ownToken: Access = { kind: 'portal' };
const byId = Closed({ id: Id() });
const base = { service: 'portal', tag: 'Portal sessions' } as const;

const ways = {
  createPortalSession: operation({
    ...base, id: 'createPortalSession', method: 'POST', path: '/api/client-users/:id/sessions',
    summary: 'Sign a client user in: for the MSP’s own portal, or for staff',
    description: 'The token is shown this once. An invited user becomes active. Suspended users are refused.',
    access: staff, params: byId,
    responses: { 201: IssuedPortalToken }, shownOnce: 'token', errors: ['not_found', 'conflict'],
  }),
  requestSignInCode: operation({
    ...base, id: 'requestSignInCode', method: 'POST', path: '/api/sign-in',
    summary: 'Ask for a sign-in code by mail',
    description: 'Answers the same whether or not the address belongs to a client user. A code works once, for 15 minutes. Five requests per address and thirty per network are taken in 15 minutes. Refused for everybody while the portal setting `ssoRequired` is on.',
    access: { kind: 'public' }, body: PortalSignIn,
    examples: { ana: { email: 'ana@northwind.example', tenant: 'org_01KAJ5Q3Z8M4T7V9X2B6C1D0EF' } },
    responses: { 202: PortalSignInReceipt }, errors: ['sso_required'],
  }),
  redeemSignInCode: operation({
    ...base, id: 'redeemSignInCode', method: 'POST', path: '/api/sessions',
    summary: 'Turn a sign-in code into a token',
    description: 'The first to send the code gets the token; everybody after is refused. So is everybody while the portal setting `ssoRequired` is on.',
    access: { kind: 'public' }, body: RedeemCode,
    examples: { code: { code: 'q3VhTt0yN1o4gK8m2bF6sXcR9wJ5dLzPeUaHiYvQn7E' } },
    responses: { 201: IssuedPortalToken }, errors: ['unauthorized', 'sso_required', 'conflict'],
  }),
};

const own = {
  renewPortalSession: operation({
    ...base, id: 'renewPortalSession', method: 'POST', path: '/api/sessions/current/renew',
    summary: 'Get a fresh token of the own session',
    description: 'A session lasts 12 hours in all; no token outlives it. The token before goes on until its own end. A session that began with a code by mail is not renewed while the portal setting `ssoRequired` is on.',
    access: ownToken,
    responses: { 200: IssuedPortalToken }, shownOnce: 'token', errors: ['sso_required'],
  }),
  endPortalSession: operation({
    ...base, id: 'endPortalSession', method: 'DELETE', path: '/api/sessions/current',
    summary: 'Sign out: every token of the own session is refused from then on',
    access: ownToken,
    responses: { 204: null },
  }),
};

const staffViews = {
  listPortalSessions: operation({
    ...base, id: 'listPortalSessions', method: 'GET', path: '/api/client-users/:id/sessions',
    summary: 'List the sessions of a client user that have not reached their end, newest first',
    access: staff, params: byId,
    query: Closed({ limit: Limit, continuationToken: Type.Optional(Type.String({ minLength: 1, maxLength: 1_000 })) }),
    responses: { 200: ItemsPage(PortalSession) }, errors: ['not_found', 'invalid_cursor'],
  }),
  revokePortalSession: operation({
    ...base, id: 'revokePortalSession', method: 'DELETE', path: '/api/client-users/:id/sessions/:sessionId',
    summary: 'End a session of a client user on every process',
    access: staff, params: Closed({ id: Id(), sessionId: Id() }),
    responses: { 204: null }, errors: ['not_found'],
  }),
};

/** Every route of the portal that is not a product resource. */
export const portalOperations = { ...ways, ...own, ...staffViews };

/** Who is calling: built by http/authenticate.ts from a key, a session or a portal token, and read by everything else. */

export const PRODUCT_SCOPES = [
  'PSA',
  'CRM',
  'Books',
  'RMM',
  'Security',
  'Defend',
  'Backups',
  'Voice',
  'Portal',
  'Console',
  'Agents',
] as const;
export type ProductScope = (typeof PRODUCT_SCOPES)[number];

export const MAIL_SCOPES = [
  'send',
  'send-batch',
  'read-logs',
  'manage-domains',
  'manage-templates',
  'manage-suppressions',
  'admin',
] as const;
export type MailScope = (typeof MAIL_SCOPES)[number];

export const TIERS = ['standard', 'professional', 'enterprise'] as const;
export type Tier = (typeof TIERS)[number];

/** The session permissions; roles grant sets of them (domain/permissions.ts). */
export const PERMISSIONS = [
  'agents:read',
  'agents:write',
  'executions:read',
  'executions:operate',
  'approvals:read',
  'approvals:decide',
  'credits:read',
  'events:read',
  'events:write',
  'products:read',
  'products:write',
  'products:delete',
  'keys:manage',
  'portal:sessions',
  'audit:read',
  'webhooks:read',
  'webhooks:manage',
  'session:own',
] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** What people at the MSP's clients may be in the portal, from least to most. */
export const PORTAL_ROLES = ['viewer', 'requester', 'approver', 'admin'] as const;
export type PortalRole = (typeof PORTAL_ROLES)[number];

/** The permissions of portal tokens; each role has a set of them (domain/portal.ts). */
export const PORTAL_PERMISSIONS = [
  'tickets:read',
  'tickets:write',
  'catalog:read',
  'settings:read',
  'invoices:read',
  'people:read',
  'people:invite',
  'profile:write',
  'approvals:read',
  'approvals:decide',
] as const;
export type PortalPermission = (typeof PORTAL_PERMISSIONS)[number];

/** What an operation asks of its caller. Deny by default: an operation without access does not compile. */
export type Access =
  | { kind: 'public' }
  /** Console endpoints: a session only, never a key. */
  | { kind: 'session'; permission: Permission }
  /** The portal's own endpoints: a portal token only. */
  | { kind: 'portal' }
  /** Product and agent APIs: a session with the permission, or a `plat_` key that holds one of the scopes. */
  | { kind: 'product'; scopes: readonly ProductScope[]; permission: Permission };

interface PrincipalBase {
  orgId: string;
  tier: Tier;
  /** What `decided_by`, `createdBy` and the access log name: `usr_…`, `key_…` or `pcu_…`. */
  id: string;
}

export interface KeyPrincipal extends PrincipalBase {
  kind: 'key';
  keyId: string;
  name: string;
  keyTier: Tier;
  scopes: readonly string[];
  /** The version of the APIs the key is pinned to, `YYYY-MM-DD`. */
  apiVersion: string;
}

export interface SessionPrincipal extends PrincipalBase {
  kind: 'session';
  sessionId: string;
  email: string;
  permissions: ReadonlySet<Permission>;
}

/** Somebody at one of the MSP's clients; reaches what belongs to that client alone. */
export interface PortalPrincipal extends PrincipalBase {
  kind: 'portal';
  sessionId: string;
  email: string;
  companyId: string;
  /** The contact that this person is, when the client user names one. */
  contactId: string | null;
  role: PortalRole;
  permissions: ReadonlySet<PortalPermission>;
}

/** The caller of a public operation; it belongs to no org and reaches nothing of any. */
export interface AnonymousPrincipal extends PrincipalBase {
  kind: 'anonymous';
}

export type Principal = KeyPrincipal | SessionPrincipal | PortalPrincipal | AnonymousPrincipal;

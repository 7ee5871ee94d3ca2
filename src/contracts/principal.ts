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
  'audit:read',
  'session:own',
] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** What an operation asks of its caller. Deny by default: an operation without access does not compile. */
export type Access =
  | { kind: 'public' }
  /** Console endpoints: a session only, never a key. */
  | { kind: 'session'; permission: Permission }
  /** Product and agent APIs: a session with the permission, or a `plat_` key that holds one of the scopes. */
  | { kind: 'product'; scopes: readonly ProductScope[]; permission: Permission };

interface PrincipalBase {
  orgId: string;
  tier: Tier;
  /** What `decided_by`, `createdBy` and the access log name: `usr_…` or `key_…`. */
  id: string;
}

export interface KeyPrincipal extends PrincipalBase {
  kind: 'key';
  keyId: string;
  keyTier: Tier;
  scopes: readonly string[];
}

export interface SessionPrincipal extends PrincipalBase {
  kind: 'session';
  sessionId: string;
  email: string;
  permissions: ReadonlySet<Permission>;
}

/** The caller of a public operation; it belongs to no org and reaches nothing of any. */
export interface AnonymousPrincipal extends PrincipalBase {
  kind: 'anonymous';
}

export type Principal = KeyPrincipal | SessionPrincipal | AnonymousPrincipal;

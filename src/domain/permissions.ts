/** What each role of a tenant's user may do, and which key scopes a session may hand out. */
import { PERMISSIONS, type Permission } from '../contracts/principal';

export const ROLES = ['owner', 'admin', 'technician', 'approver', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

const READ: readonly Permission[] = [
  'agents:read',
  'executions:read',
  'approvals:read',
  'credits:read',
  'events:read',
  'products:read',
  'session:own',
];

const ROLE_PERMISSIONS: Record<Role, ReadonlySet<Permission>> = {
  owner: new Set(PERMISSIONS),
  admin: new Set(PERMISSIONS),
  technician: new Set([...READ, 'executions:operate', 'approvals:decide', 'products:write', 'webhooks:read']),
  approver: new Set([...READ, 'approvals:decide']),
  viewer: new Set(READ),
};

/** The permissions of a role. */
export const permissionsOf = (role: Role): ReadonlySet<Permission> => ROLE_PERMISSIONS[role];

const AGENT_WORK: readonly Permission[] = ['agents:write', 'executions:operate', 'approvals:decide', 'events:write'];
const PRODUCT_WORK: readonly Permission[] = ['products:read', 'products:write', 'products:delete'];

/** What a session must itself be able to do before it may put a scope on a key. */
const SCOPE_NEEDS: Partial<Record<string, readonly Permission[]>> = {
  Agents: AGENT_WORK,
  // The specification lets Console keys reach workflows, so the scope opens the agent service as well.
  Console: [...AGENT_WORK, ...PRODUCT_WORK, 'keys:manage', 'webhooks:manage'],
  // A Portal key signs client users in, so handing one out is handing that out.
  Portal: [...PRODUCT_WORK, 'portal:sessions'],
  admin: ['keys:manage'],
};
const MAIL_NEEDS: readonly Permission[] = ['keys:manage'];

/** True when a session with these permissions may grant the scope: nobody hands out more than they hold. */
export function mayGrant(held: ReadonlySet<Permission>, scope: string, kind: 'platform' | 'mail'): boolean {
  const needs = SCOPE_NEEDS[scope] ?? (kind === 'mail' ? MAIL_NEEDS : PRODUCT_WORK);
  return needs.every((permission) => held.has(permission));
}

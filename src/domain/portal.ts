/** What each role of a client user may do in the portal. */
import type { PortalPermission, PortalRole } from '../contracts/principal';

const VIEWER: readonly PortalPermission[] = [
  'tickets:read',
  'catalog:read',
  'settings:read',
  'people:read',
  'profile:write',
  // An approval is addressed to a person, not to a role: whoever it names may decide it.
  'approvals:read',
  'approvals:decide',
];
const REQUESTER: readonly PortalPermission[] = [...VIEWER, 'tickets:write'];
const APPROVER: readonly PortalPermission[] = [...REQUESTER, 'invoices:read'];

const ROLE_PERMISSIONS: Record<PortalRole, ReadonlySet<PortalPermission>> = {
  viewer: new Set(VIEWER),
  requester: new Set(REQUESTER),
  approver: new Set(APPROVER),
  admin: new Set([...APPROVER, 'people:invite']),
};

/** The permissions of a portal role. */
export const portalPermissionsOf = (role: PortalRole): ReadonlySet<PortalPermission> => ROLE_PERMISSIONS[role];

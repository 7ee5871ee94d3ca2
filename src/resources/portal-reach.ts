/** What of a resource the portal's people reach. Deny by default: what a row does not name is refused or hidden. */
import type { PortalPermission } from '../contracts/principal';

/** What can be done with a record through the portal; deletion is not among it. */
export type PortalAction = 'list' | 'count' | 'get' | 'getCurrent' | 'batchGet' | 'create' | 'update';

/** Portal settings that the API holds people to. */
export type PortalSwitch = 'allowTicketCreation' | 'ssoRequired';

/** A field that may be sent: any value its schema takes, or these alone. */
type Takes = Readonly<Record<string, 'any' | readonly string[]>>;

/** Declared by a row; holds at the mount of its first product. */
export interface PortalReach {
  /** The permission that each action needs. An action that is not named is refused. */
  actions: Partial<Record<PortalAction, PortalPermission>>;
  /** Fields that are shown, and that lists are filtered and ordered by. */
  shows: readonly string[];
  /**
   * The client a record belongs to: named by its `companyId`, by the record that a reference names, by the parent it is
   * reached through, or by none, when every client sees the same.
   */
  belongs: 'companyId' | { through: string } | 'parent' | 'everybody';
  /** States that a record is not shown in. */
  hides?: { field: string; values: readonly string[] };
  create?: {
    takes: Takes;
    /** Set whatever was sent. */
    sets: Readonly<Record<string, unknown>>;
    /** The reference that names the caller's own contact unless another is sent. */
    contact?: string;
    /** The portal setting that can switch it off. */
    unlessOff?: PortalSwitch;
  };
  update?: {
    takes: Takes;
    /** Only the caller's own record. */
    own?: 'contact' | 'client user';
  };
}

/** Shown of every record, beside what its row names. */
export const PORTAL_BASE_FIELDS = ['id', 'version', 'createdAt', 'updatedAt', 'deletedAt'] as const;

/** Common fields that every list can be filtered and ordered by. */
export const PORTAL_COMMON_FILTERS = ['createdAt', 'updatedAt'] as const;

/** Whether a known caller may do what an operation does. Deny by default: what no branch allows is refused. */
import type { Operation } from '../contracts/operation';
import type { Access, MailScope, PortalPrincipal, Principal } from '../contracts/principal';
import { problem, type Problem } from '../contracts/problem';
import { grants, grantsAny } from '../domain/scopes';

/** What operations of the mail service ask for: a `mail_key_` key that holds every scope. */
interface MailAccess {
  kind: 'mail';
  scopes: readonly MailScope[];
}

/** The refusal, or null when the caller may go on. */
export function authorise(principal: Principal, access: Access | MailAccess): Problem | null {
  if (access.kind === 'public') return null;
  if (access.kind === 'mail') {
    const isGranted = principal.kind === 'key' && access.scopes.every((scope) => grants(principal.scopes, scope));
    return isGranted ? null : forbidden(`This key needs the scopes ${access.scopes.join(', ')}.`, access.scopes);
  }
  if (access.kind === 'portal') return forbidden('This endpoint takes portal tokens only.', ['portal token']);
  if (principal.kind === 'session') return sessionRefusal(principal, access.permission);
  if (access.kind === 'session') {
    return forbidden('This endpoint takes console sessions only, never a key.', ['session']);
  }
  const isGranted = principal.kind === 'key' && grantsAny(principal.scopes, access.scopes);
  return isGranted ? null : forbidden(`This key needs ${oneOf(access.scopes)}.`, access.scopes);
}

/** Portal tokens reach what is declared for them and nothing else. Null when the caller may go on. */
export function portalRefusal(
  { permissions, role }: PortalPrincipal,
  { access, portal, service }: Pick<Operation, 'access' | 'portal' | 'service'>,
): Problem | null {
  if (access.kind === 'public' || access.kind === 'portal') return null;
  const code = service === 'agents' ? 'forbidden' : 'portal_not_allowed';
  if (portal === undefined) return problem(code, { message: 'Portal tokens do not reach this endpoint.' });
  if (permissions.has(portal)) return null;
  return problem(code, {
    message: `The portal role ${role} lacks the permission ${portal}.`,
    facts: { required: [portal] },
  });
}

/** A portal token's body need not name the own company; where another is named, the service refuses it. */
export function fillCompany({ ownCompany }: Operation, body: unknown, principal: Principal): void {
  if (!ownCompany || principal.kind !== 'portal' || typeof body !== 'object' || body === null) return;
  const fields = body as Record<string, unknown>;
  fields[ownCompany] ??= principal.companyId;
}

const oneOf = (scopes: readonly string[]): string =>
  scopes.length === 1 ? `the scope ${scopes.join('')}` : `one of the scopes ${scopes.join(', ')}`;

function sessionRefusal(
  principal: Extract<Principal, { kind: 'session' }>,
  permission: Extract<Access, { kind: 'session' }>['permission'],
): Problem | null {
  if (principal.permissions.has(permission)) return null;
  return forbidden(`Your role lacks the permission ${permission}.`, [permission]);
}

const forbidden = (message: string, required: readonly string[]): Problem =>
  problem('forbidden', { message, facts: { required: [...required] } });

/** What a key may be given: scopes of its kind that the session itself holds, and an end that is still to come. */
import type { Principal } from '../../contracts/principal';
import { problem, type Finding } from '../../contracts/problem';
import type { KeyKind } from '../../domain/api-key';
import { mayGrant } from '../../domain/permissions';
import { scopesOf } from '../../domain/scopes';
import { nearest } from '../../domain/suggest';

function scopeFinding(scope: string, index: number, kind: KeyKind): Finding {
  const known = scopesOf(kind);
  const suggestion = nearest(scope, [...known]);
  return {
    path: `/scopes/${index}`,
    code: 'enum',
    message: `a ${kind} key takes ${known.join(', ')}`,
    ...(suggestion ? { suggestion } : {}),
  };
}

/** Refuses scopes of the other kind, and scopes the session could not use itself. */
export function requireGrantable(principal: Principal, key: { kind: KeyKind; scopes: readonly string[] }): void {
  const known = scopesOf(key.kind);
  const findings = key.scopes.flatMap((scope, index) =>
    known.includes(scope) ? [] : [scopeFinding(scope, index, key.kind)],
  );
  if (key.kind === 'mail' && key.scopes.length === 0) {
    findings.push({ path: '/scopes', code: 'minItems', message: 'a mail key needs at least one scope' });
  }
  if (findings.length > 0) {
    const [first] = findings;
    const message =
      findings.length === 1 && first ? `${first.path}: ${first.message}` : `${findings.length} scopes are not valid`;
    throw problem('validation_error', { message, findings });
  }
  const held = principal.kind === 'session' ? principal.permissions : new Set<never>();
  const beyond = key.scopes.filter((scope) => !mayGrant(held, scope, key.kind));
  if (beyond.length > 0) {
    throw problem('forbidden', {
      message: `Your role does not hold ${beyond.join(', ')}, so it cannot grant it.`,
      facts: { required: beyond },
    });
  }
}

/** The expiry as a moment; `undefined` when it was not named, an error when it has passed. */
export function requireFutureExpiry(expiresAt: string | null | undefined, now: Date): Date | null | undefined {
  if (expiresAt === undefined || expiresAt === null) return expiresAt;
  const moment = new Date(expiresAt);
  if (moment > now) return moment;
  const message = 'must be in the future';
  throw problem('validation_error', {
    message: `/expiresAt: ${message}`,
    findings: [{ path: '/expiresAt', code: 'future', message }],
  });
}

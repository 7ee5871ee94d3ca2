/** Which scopes a key holds in effect, and which scopes exist for its kind. */
import { MAIL_SCOPES, PRODUCT_SCOPES } from '../contracts/principal';
import type { KeyKind } from './api-key';

const MAIL: ReadonlySet<string> = new Set(MAIL_SCOPES);

/** The scopes that keys of a kind can hold. */
export const scopesOf = (kind: KeyKind): readonly string[] => (kind === 'mail' ? MAIL_SCOPES : PRODUCT_SCOPES);

/** True when the held scopes give the needed one: `admin` includes all mail scopes, `send-batch` works only with `send`. */
export function grants(held: readonly string[], needed: string): boolean {
  if (MAIL.has(needed) && held.includes('admin')) return true;
  if (needed === 'send-batch' && !held.includes('send')) return false;
  return held.includes(needed);
}

/** True when the held scopes give at least one of the needed ones; an empty list is given by nothing. */
export const grantsAny = (held: readonly string[], needed: readonly string[]): boolean =>
  needed.some((scope) => grants(held, scope));

/** Portal settings that people are held to. They are read when they are asked for: what uses them is rare. */
import { problem } from '../../contracts/problem';
import type { PortalSwitch } from '../../resources/portal-reach';
import { resourceOf } from '../../resources/registry';
import type { Resource } from '../../resources/resource';
import type { Store } from '../../store/collection';
import { findCurrent } from '../../store/resources';
import { defaultsOf } from './changes';
import type { ProductCall } from './call';

async function isOn(store: Store, tenantId: string, setting: PortalSwitch): Promise<boolean> {
  const row = resourceOf('portal-settings');
  const current = await findCurrent(store, { row, tenantId });
  return (current?.[setting] ?? defaultsOf(row)[setting]) === true;
}

/** Refuses a client user's create that the tenant has switched off in its portal. */
export async function checkSwitchedOn({ context, principal }: ProductCall, row: Resource): Promise<void> {
  const setting = row.portal?.create?.unlessOff;
  if (principal.kind !== 'portal' || !setting || (await isOn(context.store, principal.orgId, setting))) return;
  throw problem('portal_not_allowed', {
    message: `This portal takes no new ${row.nouns[1]}: the portal setting ${setting} is off.`,
    facts: { setting },
  });
}

/** Refuses whoever comes in by mail while the tenant wants single sign-on. */
export async function checkMailSignIn(store: Store, tenantId: string): Promise<void> {
  if (!(await isOn(store, tenantId, 'ssoRequired'))) return;
  throw problem('sso_required', {
    message: 'This client portal takes single sign-on only: sign in through the portal of your service provider.',
    facts: { setting: 'ssoRequired' },
  });
}

/** The handlers of every console operation. */
import type { Context } from '../../context';
import type { Handlers } from '../../contracts/operation';
import type { consoleOperations } from '../../contracts/operations/console';
import { auditHandlers } from './audit';
import { auditedKeys } from './audited-keys';
import { keyHandlers } from './keys';
import { limitHandlers } from './limits';
import { sessionHandlers } from './session';

/** One handler per operation of `contracts/operations/console.ts`. */
export const consoleHandlers = {
  ...sessionHandlers,
  ...keyHandlers,
  ...auditedKeys,
  ...auditHandlers,
  ...limitHandlers,
} satisfies Handlers<typeof consoleOperations, Context>;

/** The handlers of every console operation. */
import type { Context } from '../../context';
import type { Handlers, Operation } from '../../contracts/operation';
import { agentOperations } from '../../contracts/operations/agents';
import { consoleOperations } from '../../contracts/operations/console';
import { productOperations } from '../../contracts/operations/products';
import { auditHandlers } from './audit';
import { auditedKeys } from './audited-keys';
import { auditedWebhooks } from './audited-webhooks';
import { deliveryHandlers } from './deliveries';
import { feedHandlers } from './event-feed';
import { keyHandlers } from './keys';
import { limitHandlers } from './limits';
import { sessionHandlers } from './session';
import { deprecationHandlers, usageHandlers } from './usage';
import { webhookHandlers } from './webhooks';

const everyOperation: Operation[] = [
  ...Object.values<Operation>(agentOperations),
  ...Object.values<Operation>(consoleOperations),
  ...productOperations,
];

/** One handler per operation of `contracts/operations/console.ts`. */
export const consoleHandlers = {
  ...sessionHandlers,
  ...keyHandlers,
  ...auditedKeys,
  ...auditHandlers,
  ...limitHandlers,
  ...usageHandlers,
  ...deprecationHandlers(everyOperation),
  ...webhookHandlers,
  ...auditedWebhooks,
  ...deliveryHandlers,
  ...feedHandlers,
} satisfies Handlers<typeof consoleOperations, Context>;

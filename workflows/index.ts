/** The workflows this package offers to the engine. */
export { agentExecution } from './agent-execution';
export { sweep } from './sweep';
export { timedEvents } from './timed-events';
export { webhookDelivery } from './webhook-delivery';

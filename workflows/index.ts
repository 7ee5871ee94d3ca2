/** The workflows this package offers to the engine. */
export { agentExecution } from './agent-execution';
export { sweep } from './sweep';

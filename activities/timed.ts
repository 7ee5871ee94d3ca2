/** One pass over the records of a product whose moment has come. */
import { heartbeat } from '@temporalio/activity';
import { emitDue } from '../src/events/timed';
import type { Deps } from './deps';

/** Answers how many records of each resource changed. */
export const emitTimed = (deps: Deps, product: string): Promise<Record<string, number>> =>
  emitDue(deps, product, () => heartbeat());

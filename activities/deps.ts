/** What activities work with: the process's context, the outside, and this worker's copies of running executions. */
import type { Context } from '../src/context';
import type { Providers } from '../src/providers/providers';
import type { Background } from './background';
import type { ExecutionCache } from './execution-cache';

export interface Deps extends Context {
  providers: Providers;
  cache: ExecutionCache;
  background: Background;
}

/** What does not match a pattern is told what it must be: nobody should have to read the pattern. */
import type { Operation } from '../../src/contracts/operation';
import { agentOperations } from '../../src/contracts/operations/agents';
import { consoleOperations } from '../../src/contracts/operations/console';
import { productRoutes } from '../../src/contracts/operations/products';
import { wordsOf } from '../../src/contracts/patterns';
import { SHARED_SCHEMAS } from '../../src/http/validate';

const operations: Operation[] = [
  ...Object.values(agentOperations),
  ...Object.values(consoleOperations),
  ...productRoutes.map(({ operation }) => operation),
];

/** The patterns that say nothing about themselves. */
function* barePatternsIn(schema: unknown): Generator<string> {
  if (typeof schema !== 'object' || schema === null) return;
  const { pattern, description } = schema as { pattern?: unknown; description?: unknown };
  if (typeof pattern === 'string' && description === undefined && wordsOf(pattern) === null) yield pattern;
  for (const inner of Object.values(schema)) yield* barePatternsIn(inner);
}

test('every pattern that a request is held to is said in words', () => {
  const asked = operations.flatMap(({ body, query, params }) => [body, query, params]);
  expect([...asked, ...SHARED_SCHEMAS].flatMap((schema) => [...barePatternsIn(schema)])).toEqual([]);
});

/** The API's connection to the engine. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { readConfig } from '../../../src/config';
import { connectEngine } from '../../../src/engine/connect';
import { joinStack } from '../../support/harness';

test('connecting and calling begin no async context, whose hooks would slow down every promise of the process', async () => {
  const contexts = jest.spyOn(AsyncLocalStorage.prototype, 'run');
  const harness = joinStack();
  const engine = connectEngine(readConfig(harness.address.env).temporal);
  const isReachable = await engine.isReachable();
  const described = await Promise.allSettled([engine.client.workflow.getHandle('no such workflow').describe()]);
  const begun = contexts.mock.calls.length;
  contexts.mockRestore();
  await Promise.all([engine.close(), harness.close()]);
  expect({ isReachable, described: described.map(({ status }) => status), begun }).toEqual({
    isReachable: true,
    described: ['rejected'],
    begun: 0,
  });
});

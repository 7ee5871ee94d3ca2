/** The API's connection to the engine. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { readConfig } from '../../../src/config';
import { connectEngine } from '../../../src/engine/connect';
import { faultOf, outageOf } from '../../../src/engine/outages';
import { joinStack, waitFor } from '../../support/harness';
import { startLossyLine } from '../../support/stand-ins/lossy-line';

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

test('an engine that is connected and answers nothing is away until it answers again', async () => {
  const harness = joinStack();
  const { temporal } = readConfig(harness.address.env);
  const line = await startLossyLine(`tcp://${temporal.address}`);
  const engine = connectEngine({ ...temporal, address: new URL(line.uri).host });
  const describe = () => engine.client.workflow.getHandle('no such workflow').describe();
  const seen: boolean[] = [];
  try {
    seen.push(await engine.isReachable());
    line.hang();
    const silence: unknown = await describe().catch((error: unknown) => error);
    expect(silence).toMatchObject({ cause: { code: 4 } });
    expect(faultOf(silence)['why']).toMatch(/^4 DEADLINE_EXCEEDED/);
    seen.push(await engine.isReachable(), await engine.isAnswering());
    line.resume();
    const answered: unknown = await describe().catch((error: unknown) => error);
    expect(String(answered)).toContain('workflow not found');
    expect(faultOf(answered)).toEqual({ error: answered });
    await waitFor(() => engine.isAnswering());
    seen.push(await engine.isReachable());
  } finally {
    await Promise.all([engine.close(), harness.close()]);
    await line.stop();
  }
  expect(seen).toEqual([true, false, false, true]);
});

test('whether the engine answers is asked of it each time, and what it says holds for all', async () => {
  const harness = joinStack();
  const { temporal } = readConfig(harness.address.env);
  const line = await startLossyLine(`tcp://${temporal.address}`);
  const engine = connectEngine({ ...temporal, address: new URL(line.uri).host });
  try {
    const before = await engine.isAnswering();
    line.hang();
    const askedAt = performance.now();
    const during = [await engine.isAnswering(), await engine.isReachable()];
    expect({ before, during }).toEqual({ before: true, during: [false, false] });
    expect(performance.now() - askedAt).toBeLessThan(3_500);
  } finally {
    await Promise.all([engine.close(), harness.close()]);
    await line.stop();
  }
});

test.each([
  ['nobody listens', { address: '127.0.0.1:1' }, /UNAVAILABLE|DEADLINE_EXCEEDED/],
  ['there is no such namespace', { namespace: 'nope' }, /^Namespace not found: 'nope'$/],
])('a start where %s is an outage', async (_case, settings, heard) => {
  const harness = joinStack();
  const engine = connectEngine({ ...readConfig(harness.address.env).temporal, ...settings });
  const start = engine.client.workflow.start('nothing', { workflowId: 'never', taskQueue: 'none' });
  try {
    const error: unknown = await start.catch((refusal: unknown) => refusal);
    expect(outageOf(error)).toMatch(heard);
    expect(await engine.isReachable()).toBe(false);
  } finally {
    await Promise.all([engine.close(), harness.close()]);
  }
});

/** What operators read of an engine that goes away and comes back. */
import { setTimeout } from 'node:timers/promises';
import { createProbe } from '../../../src/engine/probe';

const until = async (holds: () => boolean): Promise<void> => {
  for (const end = performance.now() + 5_000; !holds() && performance.now() < end;) await setTimeout(20);
};

test('one line when it goes, another one for another reason, one when it is back, whoever asks how often', async () => {
  const lines: [string, unknown][] = [];
  let fault: string | null = 'address';
  let asked = 0;
  const ask = async (): Promise<void> => {
    asked += 1;
    if (fault !== null) throw new Error(fault);
  };
  const probe = createProbe(ask, {
    log: { warn: (message, fields) => lines.push([message, fields?.['why']]) },
    reasonOf: (error) => ({ kind: (error as Error).message, why: `${(error as Error).message} ${asked}` }),
  });
  try {
    expect(probe.isAway()).toBe(false);
    expect(await probe.answers()).toBe(false);
    expect(probe.isAway()).toBe(true);
    // Nobody asks any more: the return is told all the same.
    await until(() => asked >= 2);
    fault = 'namespace';
    await until(() => asked >= 3);
    fault = null;
    await until(() => lines.length >= 3);
    expect(await probe.answers()).toBe(true);
    expect(probe.isAway()).toBe(false);
    expect(lines).toEqual([
      ['engine away', 'address 1'],
      ['engine away', 'namespace 3'],
      ['engine back', undefined],
    ]);
  } finally {
    probe.close();
  }
  const atEnd = asked;
  await setTimeout(1_200);
  expect(asked).toBe(atEnd);
});

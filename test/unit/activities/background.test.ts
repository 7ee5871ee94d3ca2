import { createBackground } from '../../../activities/background';
import { createLog } from '../../../src/log';

const quiet = { log: createLog('silent') };

it('lets whoever began the work answer first', async () => {
  const background = createBackground(quiet);
  const told: string[] = [];
  background.run('a test', () => {
    told.push('worked');
    return Promise.resolve();
  });
  // As an activity does: its result has a few promises to go through.
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  told.push('answered');
  await background.idle();
  expect(told).toEqual(['answered', 'worked']);
});

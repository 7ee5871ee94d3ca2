import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accepts } from '../../../scripts/services/ports';
import { isAlive } from '../../../scripts/services/processes';

const ROUNDS = 3;

// Threads that are busy end one after the other: the first may be gone long before the last lets go of the port.
const LISTENER = `
  const { Worker } = require('node:worker_threads');
  for (let i = 0; i < 8; i += 1) new Worker('for (;;) new Array(1e5).fill(0.5);', { eval: true });
  require('node:net').createServer().listen(0, '127.0.0.1', function () { console.log(this.address().port); });`;

test('a killed process is dead only when none of its threads holds its port any more', async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const child = spawn(process.execPath, ['-e', LISTENER], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [port] = (await once(child.stdout, 'data')) as [Buffer];
    child.kill('SIGKILL');
    while (isAlive(child.pid ?? 0));
    expect(await accepts('127.0.0.1', Number(port))).toBe(false);
  }
});

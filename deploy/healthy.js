/** Container health: ends with 0 when the address answers 2xx. The image has no curl. */
'use strict';

const TIMEOUT_MS = 4_000;

async function check(address) {
  const reply = await fetch(address, { headers: { connection: 'close' }, signal: AbortSignal.timeout(TIMEOUT_MS) });
  await reply.arrayBuffer();
  if (!reply.ok) throw new Error(`${address} answered ${reply.status}`);
}

check(process.argv[2]).catch((error) => {
  process.stderr.write(`${String(error)}\n`);
  process.exitCode = 1;
});

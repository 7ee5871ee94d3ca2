/** The outside of the agents, at no cost of its own: a model API, a mail relay and an HTTP service that answer at once. */
import { createServer } from 'node:http';
import { createServer as createRelay, type AddressInfo, type Server, type Socket } from 'node:net';
import { answerQuestions } from './child';
import { OUTSIDE_READY, type OutsideAddresses } from './messages';

const COMPLETION = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'bench',
  choices: [{ index: 0, message: { role: 'assistant', content: 'A short answer.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 40, completion_tokens: 5, total_tokens: 45 },
});

const listen = (server: Server): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });

/** Questions to the model and calls of `http_request` steps: every path has its fixed answer. */
const startHttp = (): Promise<number> =>
  listen(
    createServer((request, response) => {
      request.resume();
      request.once('end', () => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(request.url?.endsWith('/chat/completions') ? COMPLETION : '{"ok":true}');
      });
    }),
  );

const REPLIES: Record<string, string> = {
  EHLO: '250-bench\r\n250 8BITMIME',
  HELO: '250 bench',
  DATA: '354 Go ahead',
  QUIT: '221 Bye',
};
const END_OF_MESSAGE = '\r\n.\r\n';

/** One connection of a relay that takes every message: replies in the order of the commands, whatever is in a message. */
function talk(socket: Socket): void {
  let unread = '';
  let isMessage = false;
  const next = (end: string): string | null => {
    const at = unread.indexOf(end);
    if (at === -1) return null;
    const taken = unread.slice(0, at);
    unread = unread.slice(at + end.length);
    return taken;
  };
  socket.setNoDelay().write('220 bench ESMTP\r\n');
  socket.on('data', (chunk) => {
    unread += chunk.toString('latin1');
    for (let line = next(isMessage ? END_OF_MESSAGE : '\r\n'); line !== null;) {
      const command = isMessage ? '' : line.slice(0, 4).toUpperCase();
      socket.write(`${REPLIES[command] ?? '250 OK'}\r\n`);
      if (command === 'QUIT') socket.end();
      isMessage = command === 'DATA';
      line = next(isMessage ? END_OF_MESSAGE : '\r\n');
    }
  });
  // A pool that closes its connections is no fault of ours.
  socket.on('error', () => undefined);
}

const startMail = (): Promise<number> => listen(createRelay(talk));

async function main(): Promise<void> {
  const [http, mail] = await Promise.all([startHttp(), startMail()]);
  const addresses: OutsideAddresses = {
    AI_BASE_URL: `http://127.0.0.1:${http}/v1`,
    SMTP_URL: `smtp://127.0.0.1:${mail}`,
    HTTP_URL: `http://127.0.0.1:${http}/hook`,
  };
  answerQuestions(() => Promise.resolve(null));
  process.stdout.write(`${OUTSIDE_READY}${JSON.stringify(addresses)}\n`);
}

void main();

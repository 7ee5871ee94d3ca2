/** The outside of the agents, at no cost of its own: a model API, a mail relay and an HTTP service that answer at once. */
import { createServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { SMTPServer } from 'smtp-server';
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

async function startMail(): Promise<number> {
  const sink = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    disableReverseLookup: true,
    onData(stream, _session, done) {
      stream.resume();
      stream.once('end', () => done());
    },
  });
  // A pool that closes its connections is no fault of ours.
  sink.on('error', () => undefined);
  return listen(sink.server);
}

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

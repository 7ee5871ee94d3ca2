/** What those who look after the process may ask it: whether it lives, and whether it takes work. */
import { createServer, type Server } from 'node:http';

interface Checks {
  isPolling: () => boolean;
  isEngineAnswering: () => Promise<boolean>;
}

/** `/healthz` answers while the process lives, `/readyz` while its worker polls an engine that answers. */
export function createHealth({ isPolling, isEngineAnswering }: Checks): Server {
  const answerOf = async (path: string | undefined): Promise<{ status: number; body: object }> => {
    if (path === '/healthz') return { status: 200, body: { status: 'ok' } };
    if (path !== '/readyz') return { status: 404, body: { status: 'not found' } };
    // Of an engine that nobody can reach nothing is polled, whatever state the worker is in.
    const engine = await isEngineAnswering();
    const isReady = engine && isPolling();
    return { status: isReady ? 200 : 503, body: { status: isReady ? 'ok' : 'unavailable', engine } };
  };
  return createServer(({ url = '' }, response) => {
    void answerOf(url.split('?', 1)[0]).then(({ status, body }) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
    );
  });
}

/** What those who look after the process may ask it: whether it lives, and whether it takes work. */
import { createServer, type Server } from 'node:http';

interface Checks {
  isPolling: () => boolean;
  isEngineAnswering: () => Promise<boolean>;
}

/** Whom nobody can reach has nothing to poll. */
async function readiness({ isPolling, isEngineAnswering }: Checks): Promise<{ isReady: boolean; engine: boolean }> {
  const engine = await isEngineAnswering();
  return { isReady: engine && isPolling(), engine };
}

/** `/healthz` answers while the process lives, `/readyz` while its worker polls an engine that answers. */
export function createHealth(checks: Checks): Server {
  const answerOf = async (path: string | undefined): Promise<{ status: number; body: object }> => {
    if (path === '/healthz') return { status: 200, body: { status: 'ok' } };
    if (path !== '/readyz') return { status: 404, body: { status: 'not found' } };
    const { isReady, engine } = await readiness(checks);
    return { status: isReady ? 200 : 503, body: { status: isReady ? 'ok' : 'unavailable', engine } };
  };
  return createServer(({ url = '' }, response) => {
    void answerOf(url.split('?', 1)[0]).then(({ status, body }) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
    );
  });
}

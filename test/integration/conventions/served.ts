/** Mounts operations of a test's choice, in this process and on the running store, as the API mounts its own. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Express } from 'express';
import type { Context } from '../../../src/context';
import { createGuard, type CredentialGuard } from '../../../src/http/admission';
import { createApp } from '../../../src/http/app';
import { clientErrorListener, rawAnswers } from '../../../src/http/client-errors';

export interface Served {
  baseUrl: string;
  guard: CredentialGuard;
  close(): Promise<void>;
}

/** Listens on a free loopback port. */
export async function serve(context: Context, build: (guard: CredentialGuard) => Express): Promise<Served> {
  const guard = createGuard(context);
  const server = createServer(build(guard)).on('clientError', clientErrorListener(rawAnswers(guard, context.config)));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    guard,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
      await guard.close();
    },
  };
}

const isThere = (): Promise<boolean> => Promise.resolve(true);

/** The whole API. */
export const serveAll = (context: Context): Promise<Served> =>
  serve(context, (guard) => createApp(context, guard, { store: isThere, engine: isThere }));

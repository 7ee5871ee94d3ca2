/** Express without product code: the same bytes, and the product's own store commands made raw. Runs in a process of its own. */
import { tickets } from '../../src/resources/tickets';
import express, { type Express, type Request, type Response } from 'express';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readConfig } from '../../src/config';
import { openStore, type OpenStore } from '../../src/store/connect';
import { takeFromGuard } from '../../src/store/guards';
import { answerQuestions } from './child';
import { BARE_HTTP_READY, type BareHttpAsk } from './messages';

interface RawTicket {
  _id: string;
  tenantId: string;
}

const LIMIT = 1_000_000_000;

/** Express takes care of a rejection itself. */
const handling =
  (handle: (request: Request<Record<string, string>>, response: Response) => Promise<unknown>) =>
  (request: Request<Record<string, string>>, response: Response): Promise<unknown> =>
    handle(request, response);

function createApp(store: OpenStore, answered: { body: unknown }): Express {
  const app = express().disable('etag').disable('x-powered-by').set('query parser', 'simple');
  const findRaw = (org: string, id: string, options?: { projection: Record<string, number> }) =>
    store.connection.db?.collection<RawTicket>(tickets.collection).findOne({ _id: id, tenantId: org }, options);
  const take = (orgId: string) =>
    takeFromGuard(store, { orgId, window: 'tenant', limit: LIMIT, key: null, conditional: false });
  app.get('/same', (_request, response) => void response.json(answered.body));
  app.get('/unchanged', (_request, response) => void response.set('ETag', 'W/"1"').status(304).end());
  app.get(
    '/tickets/:org/:id',
    handling(async ({ params }, response) => {
      const { org = '', id = '' } = params;
      response.json(await findRaw(org, id));
    }),
  );
  app.get(
    '/guarded/:org',
    handling(async ({ params }, response) => {
      await take(params['org'] ?? '');
      response.json(answered.body);
    }),
  );
  app.get(
    '/guarded/:org/unchanged/:id',
    handling(async ({ params }, response) => {
      const { org = '', id = '' } = params;
      await take(org);
      const found = await findRaw(org, id, { projection: { version: 1 } });
      if (!found) throw new Error('no such ticket');
      response.set('ETag', 'W/"1"').status(304).end();
    }),
  );
  return app;
}

async function main(): Promise<void> {
  const store = openStore(readConfig().mongodbUri);
  await store.connection.asPromise();
  const answered: { body: unknown } = { body: {} };
  answerQuestions((question) => {
    answered.body = (question as BareHttpAsk).body;
    return Promise.resolve(null);
  });
  const server = createServer(createApp(store, answered));
  server.listen(0, '127.0.0.1', () => {
    process.stdout.write(`${BARE_HTTP_READY}${(server.address() as AddressInfo).port}\n`);
  });
}

main().catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exit(1);
});

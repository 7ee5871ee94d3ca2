/** The published documents: current, valid, complete, and served as they are published. */
import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import Ajv2020 from 'ajv/dist/2020';
import express from 'express';
import { publishedDocuments, staleDocuments } from '../../scripts/openapi';
import type { Guard } from '../../src/http/guard';
import type { Context } from '../../src/context';
import { PROBLEMS } from '../../src/contracts/problem';
import { allOperations, documentedServices, serviceDocument, wholeDocument } from '../../src/http/api-documents';
import { docsRouter } from '../../src/http/docs';
import { renderMarkdown } from '../../src/http/markdown';
import { serviceRouter } from '../../src/http/mount';
import { opening } from '../../src/http/send';
import { bodyValidator, SHARED_SCHEMAS, textValidator } from '../../src/http/validate';

interface Document {
  paths: Record<string, Record<string, { operationId: string; responses: Record<string, unknown> }>>;
  components: { schemas: Record<string, unknown> };
}

const operationsIn = (document: unknown) =>
  Object.values((document as Document).paths).flatMap((path) => Object.values(path));

test('the documents in docs/reference are what the code says', () => {
  expect(staleDocuments().map(({ path }) => path)).toEqual([]);
});

test('Redocly finds no error in any of them', async () => {
  const cli = resolve(__dirname, '../../node_modules/@redocly/cli/bin/cli.js');
  const files = publishedDocuments().map(({ path }) => path);
  const env = { PATH: process.env['PATH'], REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const linted = await promisify(execFile)(process.execPath, [cli, 'lint', ...files], { env, timeout: 60_000 }).catch(
    (error: unknown) => error as { stdout: string; stderr: string },
  );
  expect(`${linted.stdout}${linted.stderr}`).toMatch(/Your API descriptions are valid/);
  expect(`${linted.stdout}${linted.stderr}`).not.toMatch(/\d+ errors?/);
});

test('every operation says what it is, where it belongs and who may call it', () => {
  for (const { id, summary, tag, access } of allOperations) {
    expect({ id, summary, tag, access: access.kind }).toEqual({
      id: expect.stringMatching(/^[a-z][A-Za-z]+$/) as string,
      summary: expect.stringMatching(/^[A-Z].{5,}[^.]$/) as string,
      tag: expect.stringMatching(/^[A-Z]/) as string,
      access: expect.stringMatching(/^(public|session|portal|product)$/) as string,
    });
  }
});

test('operation ids are unique over all services, and each operation is in its own document and in the whole one', () => {
  const ids = allOperations.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const perService = documentedServices.flatMap((service) =>
    operationsIn(serviceDocument(service)).map(({ operationId }) => operationId),
  );
  expect(perService.toSorted()).toEqual(ids.toSorted());
  expect(
    operationsIn(wholeDocument())
      .map(({ operationId }) => operationId)
      .toSorted(),
  ).toEqual(ids.toSorted());
});

test('every guarded operation documents 401, 403 and 429', () => {
  const open = new Set(allOperations.filter(({ access }) => access.kind === 'public').map(({ id }) => id));
  for (const { operationId, responses } of operationsIn(wholeDocument()).filter(
    (shown) => !open.has(shown.operationId),
  )) {
    expect({ operationId, statuses: Object.keys(responses) }).toEqual({
      operationId,
      statuses: expect.arrayContaining(['401', '403', '429', '500', '503']) as string[],
    });
  }
});

test('an answer with a new record links to everything that can be done with it', () => {
  const { paths, components } = wholeDocument() as unknown as {
    paths: Record<string, Record<string, { responses: Record<string, { links?: Record<string, unknown> }> }>>;
    components: { links: Record<string, { operationId: string }> };
  };
  expect(Object.keys(paths['/psa/api/tickets']?.['post']?.responses['201']?.links ?? {})).toEqual(
    expect.arrayContaining(['GetTicket', 'UpdateTicket', 'DeleteTicket', 'ListTickets']),
  );
  expect(Object.keys(paths['/agents/api/templates/{id}/clone']?.['post']?.responses['201']?.links ?? {})).toContain(
    'GetAgent',
  );
  const ids = new Set(allOperations.map(({ id }) => id));
  expect(Object.values(components.links).filter(({ operationId }) => !ids.has(operationId))).toEqual([]);
});

describe('generators of clients', () => {
  /** Everything in a value that is an object, with where it is. */
  const objectsIn = (value: unknown, at = ''): { at: string; value: Record<string, unknown> }[] => {
    if (typeof value !== 'object' || value === null) return [];
    const inside = Object.entries(value).flatMap(([name, one]) => objectsIn(one, `${at}/${name}`));
    return Array.isArray(value) ? inside : [{ at, value: value as Record<string, unknown> }, ...inside];
  };
  const { components } = wholeDocument() as unknown as {
    components: { schemas: Record<string, unknown>; links: Record<string, { requestBody?: unknown }> };
  };

  test('can name every value of an enum: no two differ in case alone', () => {
    const twins = objectsIn(wholeDocument()).filter(({ value }) => {
      const texts = (Array.isArray(value['enum']) ? (value['enum'] as unknown[]) : []).map((one) =>
        String(one).toUpperCase(),
      );
      return new Set(texts).size < texts.length;
    });
    expect(twins.map(({ at }) => at)).toEqual([]);
  });

  test('find a name for every member of a union that contains the union itself', () => {
    const nameless = Object.entries(components.schemas).flatMap(([name, schema]) => {
      const { oneOf = [], anyOf = [] } = schema as { oneOf?: object[]; anyOf?: object[] };
      return [...oneOf, ...anyOf]
        .filter((member) => !('$ref' in member) && JSON.stringify(member).includes(`schemas/${name}"`))
        .map((member) => `${name}: ${JSON.stringify(member)}`);
    });
    expect(nameless).toEqual([]);
  });

  test('are given no link with a body: openapi-generator refuses the document for it', () => {
    expect(Object.entries(components.links).filter(([, { requestBody }]) => requestBody !== undefined)).toEqual([]);
  });
});

test('a body is required exactly where the empty object is refused', () => {
  const documented = wholeDocument() as unknown as {
    paths: Record<string, Record<string, { requestBody?: { required: boolean } }>>;
  };
  for (const { service, method, path, body } of allOperations.filter((operation) => operation.body !== undefined)) {
    if (!body) continue;
    const at = `/${service}${path.replace(/:(\w+)/g, '{$1}')}`;
    const isRequired = documented.paths[at]?.[method.toLowerCase()]?.requestBody?.required;
    expect({ at, isRequired }).toEqual({ at, isRequired: bodyValidator(body)({}).length > 0 });
  }
});

test('every schema that requests are checked with is a JSON Schema: the running product takes that for granted', () => {
  const ajv = new Ajv2020({ strict: false });
  const asked = allOperations.flatMap(({ id, params, query, body }) =>
    Object.entries({ params, query, body }).map(([place, schema]) => ({ at: `${id} ${place}`, schema })),
  );
  const shared = SHARED_SCHEMAS.map((schema) => ({ at: String(schema.$id), schema }));
  const unsound = [...asked, ...shared].flatMap(({ at, schema }) =>
    schema === undefined || ajv.validateSchema(schema) === true ? [] : `${at}: ${ajv.errorsText(ajv.errors)}`,
  );
  expect(unsound).toEqual([]);
});

test('every schema of parameters compiles before anybody asks for it', () => {
  const schemas = allOperations.flatMap(({ params, query }) =>
    [params, query].filter((schema) => schema !== undefined),
  );
  expect(schemas).not.toHaveLength(0);
  for (const schema of schemas) expect(() => textValidator(schema)({})).not.toThrow();
});

describe('served', () => {
  let server: Server;
  let baseUrl: string;
  beforeAll(async () => {
    const guard = { headersFor: () => ({}) } as unknown as Guard;
    const context = { log: { error: () => undefined } } as unknown as Context;
    const app = express();
    app.use(opening());
    for (const service of documentedServices) app.use(`/${service}`, serviceRouter(service, [], { guard, context }));
    app.use(docsRouter(context));
    server = createServer(app);
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });

  test.each(documentedServices)('/%s/api/openapi.json is the published document and answers 304', async (service) => {
    const reply = await fetch(`${baseUrl}/${service}/api/openapi.json`);
    expect(await reply.json()).toEqual(JSON.parse(JSON.stringify(serviceDocument(service))));
    const headers = { 'if-none-match': String(reply.headers.get('etag')) };
    expect((await fetch(`${baseUrl}/${service}/api/openapi.json`, { headers })).status).toBe(304);
  });

  test('/docs lists every operation and loads nothing from anywhere', async () => {
    const reply = await fetch(`${baseUrl}/docs`);
    const html = await reply.text();
    for (const { service, path } of allOperations) expect(html).toContain(`/${service}${path}</code>`);
    expect(html).not.toMatch(/<script|<link|src=|https?:/);
    expect(reply.headers.get('content-security-policy')).toMatch(/^default-src 'none'/);
  });

  test('every error code has a page, by either of its names', async () => {
    for (const [code, { product }] of Object.entries(PROBLEMS)) {
      for (const name of [code, product]) expect((await fetch(`${baseUrl}/docs/errors/${name}`)).status).toBe(200);
    }
    expect((await fetch(`${baseUrl}/docs/errors/nope`)).status).toBe(404);
    expect((await fetch(`${baseUrl}/docs/errors/..%2f..%2fpackage`)).status).toBe(404);
  });
});

describe('Markdown', () => {
  test('headings, lists, code, bold and links become HTML', () => {
    const html = renderMarkdown(
      '# Title\n\nSay `a < b` and **now**, see [docs](/docs).\n\n- one\n- two\n\n```json\n{"a": "<b>"}\n```\n',
    );
    expect(html).toBe(
      '<h1>Title</h1>\n<p>Say <code>a &lt; b</code> and <strong>now</strong>, see <a href="/docs">docs</a>.</p>\n' +
        '<ul><li>one</li><li>two</li></ul>\n<pre><code>{&quot;a&quot;: &quot;&lt;b&gt;&quot;}</code></pre>\n',
    );
  });

  test('nothing in a page can become markup of its own', () => {
    expect(renderMarkdown('<img src=x onerror=alert(1)> [x](javascript:alert(1))')).not.toMatch(/<img|<a /);
  });
});

/** The documentation the API serves about itself: OpenAPI documents, a list of every operation and a page per error code. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Router, type Response } from 'express';
import type { Context } from '../context';
import type { Operation, ServiceName } from '../contracts/operation';
import { problem, PROBLEMS, type ProblemCode } from '../contracts/problem';
import { allOperations, documentedServices, titleOf } from './api-documents';
import { escapeHtml, renderMarkdown } from './markdown';
import { refuse } from './refuse';
import { documentHandler } from './published';

const STYLE = `
body { font: 16px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; color: #1c2430; background: #fff; }
h1, h2, h3 { line-height: 1.25; } h2 { margin-top: 2.5rem; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; vertical-align: top; padding: .35rem .6rem .35rem 0; border-bottom: 1px solid #dfe4ea; }
code, pre { font: 14px/1.5 ui-monospace, monospace; } pre { background: #f3f5f8; padding: .8rem; overflow-x: auto; }
.method { font-weight: 600; } .note { color: #5a6675; } a { color: #0b5cad; }
@media (prefers-color-scheme: dark) { body { color: #dde3ea; background: #12161c; } td, th { border-color: #2b333d; } pre { background: #1c222b; } a { color: #7db7f5; } .note { color: #9aa6b4; } }
`;

// The page holds nothing but its own style, so nothing else is allowed to load or to run.
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');
const POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

const page = (title: string, content: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
  `<title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body>${content}</body></html>\n`;

function sendHtml(response: Response, html: string): void {
  response.set({ 'Content-Security-Policy': POLICY, 'Cache-Control': 'no-cache' }).type('html').send(html);
}

const accessOf = ({ access }: Operation): string => {
  if (access.kind === 'public') return 'everybody';
  if (access.kind === 'portal') return 'portal token';
  return access.kind === 'session' ? `session: ${access.permission}` : `key: ${access.scopes.join(', ')}`;
};

const row = (operation: Operation): string =>
  `<tr id="${operation.id}"><td class="method">${operation.method}</td>` +
  `<td><code>/${operation.service}${escapeHtml(operation.path)}</code></td>` +
  `<td>${escapeHtml(operation.summary)}${operation.deprecated ? ` <b>Deprecated, answers until ${operation.deprecated.sunset}</b>` : ''}</td><td class="note">${escapeHtml(accessOf(operation))}</td></tr>`;

function section(service: ServiceName): string {
  const rows = allOperations.filter((operation) => operation.service === service).map(row);
  return (
    `<h2 id="${service}">${titleOf(service)}</h2><p class="note">Base address <code>/${service}</code>, ` +
    `<a href="/${service}/api/openapi.json">OpenAPI 3.1</a></p>` +
    `<table><tr><th>Method</th><th>Path</th><th>What it does</th><th>Access</th></tr>${rows.join('')}</table>`
  );
}

const CODES = Object.keys(PROBLEMS) as ProblemCode[];

const errorIndex = (): string =>
  `<h2 id="errors">Errors</h2><table><tr><th>Status</th><th>Code</th><th>Meaning</th></tr>${CODES.map(
    (code) =>
      `<tr><td>${PROBLEMS[code].status}</td><td><a href="/docs/errors/${code}"><code>${code}</code></a></td>` +
      `<td>${escapeHtml(PROBLEMS[code].text)}</td></tr>`,
  ).join('')}</table>`;

const indexPage = (): string =>
  page(
    'Signalbox APIs',
    `<h1>Signalbox APIs</h1><p>Every operation of this server. The same as one document: <a href="/openapi.json">OpenAPI 3.1</a>. ` +
      `What refusals mean: <a href="#errors">errors</a>.</p>${documentedServices.map(section).join('')}${errorIndex()}`,
  );

/** The pages, as seen from here: sources and builds lie at different depths below the project's folder. */
function errorFolder(from: string = __dirname): string | undefined {
  const folder = join(from, 'docs/reference/errors');
  if (existsSync(folder)) return folder;
  const above = dirname(from);
  return above === from ? undefined : errorFolder(above);
}

/** Error bodies of the product APIs spell the same codes in capitals and with names of their own. */
const codeOf = (name: string): ProblemCode | undefined =>
  CODES.find((code) => code === name || PROBLEMS[code].product === name);

async function errorPage(code: ProblemCode): Promise<string> {
  const { status, product, text } = PROBLEMS[code];
  const folder = errorFolder();
  const written = folder ? await readFile(join(folder, `${code}.md`), 'utf8').catch(() => null) : null;
  const content = written === null ? `<h1>${code}</h1><p>${escapeHtml(text)}</p>` : renderMarkdown(written);
  const facts = `<p class="note">HTTP ${status}; <code>${code}</code> on the agent service, <code>${product}</code> elsewhere. <a href="/docs#errors">All codes</a></p>`;
  return page(code, `${content}${facts}`);
}

/** Routes of the documentation; each service serves its own OpenAPI document itself. */
export function docsRouter(context: Context): Router {
  const router = Router({ caseSensitive: true });
  router.get('/openapi.json', documentHandler('all'));
  let index: string | null = null;
  router.get('/', (_request, response) => response.redirect('/docs'));
  router.get('/docs', (_request, response) => sendHtml(response, (index ??= indexPage())));
  router.get('/docs/errors/:code', (request, response, next) => {
    const code = codeOf(request.params.code);
    if (code) return void errorPage(code).then((html) => sendHtml(response, html), next);
    const exchange = { response, requestId: String(response.getHeader('X-Request-Id')) };
    return refuse(problem('not_found', { message: 'No such error code; see /docs#errors.' }), 'psa', exchange, context);
  });
  return router;
}

/** Writes the published OpenAPI documents; with `--check` only says whether they are current, and ends with 1 when not. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { documentedServices, serviceDocument } from '../src/http/api-documents';

const FOLDER = resolve(__dirname, '../docs/reference');

/** A published document: where it belongs and what it must hold. */
export interface Published {
  path: string;
  text: string;
}

/** Every document as the code would write it now. */
export const publishedDocuments = (): Published[] =>
  documentedServices.map((service) => ({
    path: join(FOLDER, `${service}.openapi.json`),
    text: `${JSON.stringify(serviceDocument(service), null, 2)}\n`,
  }));

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** The documents on disk that say something else than the code. */
export const staleDocuments = (): Published[] => publishedDocuments().filter(({ path, text }) => read(path) !== text);

function main(): void {
  const stale = staleDocuments();
  if (process.argv.includes('--check')) {
    for (const { path } of stale) console.error(`${path} is out of date; run: npx tsx scripts/openapi.ts`);
    process.exitCode = stale.length > 0 ? 1 : 0;
    return;
  }
  mkdirSync(FOLDER, { recursive: true });
  for (const { path, text } of stale) {
    writeFileSync(path, text);
    console.log(`wrote ${path}`);
  }
}

if (require.main === module) main();

/** Writes down what clients may rely on, once per release; `test/contract/breaking.test.ts` holds the code to it. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { LATEST_VERSION } from '../src/contracts/version';
import { wholeDocument } from '../src/http/api-documents';
import { contractOf, type Contract } from './breaking-changes';

const FOLDER = resolve(__dirname, '../docs/reference/baseline');

/** What the code promises now. */
export const currentContract = (): Contract => contractOf(wholeDocument());

/** What the last release promised. */
export function releasedContract(): Contract {
  const newest = readdirSync(FOLDER)
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .at(-1);
  return JSON.parse(readFileSync(join(FOLDER, newest ?? ''), 'utf8')) as Contract;
}

/** One line per operation and schema, so that a change of the baseline can be read. */
function written({ operations, schemas }: Contract): string {
  const lines = (entries: object): string =>
    Object.entries(entries)
      .map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
      .join(',\n');
  return `{"operations": {\n${lines(operations)}\n},\n"schemas": {\n${lines(schemas)}\n}}\n`;
}

function main(): void {
  mkdirSync(FOLDER, { recursive: true });
  const path = join(FOLDER, `${LATEST_VERSION}.json`);
  writeFileSync(path, written(currentContract()));
  console.log(`wrote ${path}`);
}

if (require.main === module) main();

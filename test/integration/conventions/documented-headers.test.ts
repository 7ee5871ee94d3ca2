/** The headers of every answer are the ones its operation's document names, no fewer and no others. */
import type { Operation } from '../../../src/contracts/operation';
import { serviceDocument } from '../../../src/http/api-documents';
import { joinStack, type Answer, type Harness } from '../../support/harness';
import { eachOf, everything, exampleOf, reachable, type Everything } from '../../support/operations';

/** What HTTP, browsers and the server itself need; the documents leave it out. */
const UNNAMED = new Set([
  'cache-control',
  'connection',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'set-cookie',
  'vary',
  'x-content-type-options',
]);
/** On a repeat, and on the conflict that passes, alone. */
const isOccasional = (name: string, status: number): boolean =>
  name === 'idempotency-replayed' || (name === 'retry-after' && status === 409);

interface Shown {
  $ref?: string;
  headers?: Record<string, unknown>;
}
interface Document {
  paths: Record<string, Record<string, { responses: Record<string, Shown> }>>;
  components: { responses: Record<string, Shown> };
}

const documents = new Map<string, Document>();
function documentOf({ service }: Operation): Document {
  const known = documents.get(service) ?? (serviceDocument(service) as unknown as Document);
  documents.set(service, known);
  return known;
}

function namedIn(operation: Operation, status: number): string[] | null {
  const { paths, components } = documentOf(operation);
  const path = operation.path.replace(/:(\w+)/g, '{$1}');
  const shown = paths[path]?.[operation.method.toLowerCase()]?.responses[status];
  const response = shown?.$ref ? components.responses[shown.$ref.split('/').at(-1) ?? ''] : shown;
  return response ? Object.keys(response.headers ?? {}).map((name) => name.toLowerCase()) : null;
}

function faultsOf(operation: Operation, { status, headers }: Answer): string[] {
  const at = `${operation.id} ${status}`;
  const named = namedIn(operation, status);
  if (!named) return [`${at}: no such status`];
  const missing = named.filter((name) => !headers.has(name) && !isOccasional(name, status));
  const others = [...headers.keys()].filter((name) => !named.includes(name) && !UNNAMED.has(name));
  return [...missing.map((name) => `${at}: no ${name}`), ...others.map((name) => `${at}: ${name} is not documented`)];
}

let harness: Harness;
let all: Everything;
beforeAll(async () => {
  harness = joinStack();
  all = await everything(harness);
});
afterAll(() => harness.close());

const NOBODY = { cookie: '', 'x-csrf-token': '' };
const isRemoval = ({ method }: Operation): boolean => method === 'DELETE';

test('every header that is documented is sent, and every other is documented', async () => {
  const faults: string[] = [];
  const statuses = new Set<number>();
  const check = async (operation: Operation, answer: Promise<Answer>): Promise<Answer> => {
    const given = await answer;
    statuses.add(given.status);
    faults.push(...faultsOf(operation, given));
    return given;
  };
  const visit = async (operation: Operation): Promise<void> => {
    const body = operation.body ? exampleOf(operation) : undefined;
    const first = await check(operation, all.call(operation, { body }));
    await check(operation, all.call(operation, { body, headers: NOBODY }));
    await check(operation, all.call(operation, { body, id: 'none', headers: { 'platform-version': 'none' } }));
    if (operation.params) await check(operation, all.call(operation, { body, id: 'none' }));
    const tag = first.headers.get('etag') ?? '';
    if (operation.method === 'GET') await check(operation, all.call(operation, { headers: { 'if-none-match': tag } }));
    else if (operation.errors?.includes('version_conflict'))
      await check(operation, all.call(operation, { body, headers: { 'if-match': '"none"' } }));
  };
  await eachOf(
    reachable.filter((operation) => !isRemoval(operation)),
    visit,
  );
  await eachOf(reachable.filter(isRemoval), visit);
  expect([...new Set(faults)].toSorted()).toEqual([]);
  expect([...statuses]).toEqual(expect.arrayContaining([200, 201, 204, 304, 400, 401, 403, 404, 409, 412]));
});

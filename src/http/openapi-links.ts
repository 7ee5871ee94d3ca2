/** OpenAPI links: what can be done next with the record that an answer holds. */
import type { Operation } from '../contracts/operation';
import type { TSchema } from '../contracts/schema';
import type { Json } from './openapi-schemas';

const CREATED = [201, 202];

const refTo = (name: string): Json => ({ $ref: `#/components/links/${name}` });

const schemasOf = ({ responses }: Operation, statuses: readonly number[]): TSchema[] =>
  Object.entries(responses).flatMap(([status, schema]) =>
    statuses.includes(Number(status)) && schema ? [schema] : [],
  );

const itemsOf = (schema: TSchema): unknown =>
  (schema as { properties?: { items?: { items?: unknown } } }).properties?.items?.items;

/** A place where records of one schema are read by id. */
interface Home {
  service: string;
  path: string;
  record: TSchema;
}

const homesOf = (operations: readonly Operation[]): Home[] =>
  operations
    .filter(({ method, path }) => method === 'GET' && path.endsWith('/:id'))
    .flatMap((operation) =>
      schemasOf(operation, [200]).map((record) => ({ service: operation.service, path: operation.path, record })),
    );

const title = (id: string): string => id.charAt(0).toUpperCase() + id.slice(1);

/** Links that many answers share, by name. */
export interface LinkRegister {
  /** The links of an operation's answer with this status; empty where it holds no record that can be named. */
  linksOf(operation: Operation, status: number): Json;
  components(): Json;
}

/** Opens the register of these operations. A link stays inside its service, where its path is understood. */
export function linkRegister(operations: readonly Operation[]): LinkRegister {
  const homes = homesOf(operations);
  const named = new Map<string, Json>();
  const shared = (name: string, link: Json): Json => {
    named.set(name, link);
    return { [name]: refTo(name) };
  };
  const homeOf = ({ service, path }: Operation, record: unknown): Home | undefined =>
    homes.find((home) => home.service === service && home.record === record && path.startsWith(parentOf(home))) ??
    homes.find((home) => home.service === service && home.record === record);

  const onRecord = (home: Home, id: string, suffix: string): Json[] =>
    operations
      .filter(
        ({ service, path }) => service === home.service && (path === home.path || path.startsWith(`${home.path}/`)),
      )
      // What names another record besides cannot be reached from this one alone.
      .filter(({ path }) => !path.includes('/:', home.path.length))
      .map((target) =>
        shared(`${title(target.id)}${suffix}`, { operationId: target.id, parameters: { id: `$response.body#${id}` } }),
      );

  /**
   * Where the record that was made is listed. None leads to its batch: a link with a body that is no text is lawful,
   * and refused all the same by openapi-generator, with the whole document.
   */
  const beside = (home: Home): Json[] => {
    const list = operations.find(
      ({ service, method, path }) => service === home.service && method === 'GET' && path === parentOf(home),
    );
    return list ? [shared(title(list.id), { operationId: list.id })] : [];
  };

  return {
    linksOf(operation, status) {
      const [schema] = schemasOf(operation, [status]);
      if (!schema) return {};
      if (CREATED.includes(status)) {
        const home = homeOf(operation, schema);
        return home ? (Object.assign({}, ...onRecord(home, '/id', ''), ...beside(home)) as Json) : {};
      }
      const home = operation.method === 'GET' ? homeOf(operation, itemsOf(schema)) : undefined;
      return home ? (Object.assign({}, ...onRecord(home, '/items/0/id', 'OfFirst')) as Json) : {};
    },
    components: () => Object.fromEntries([...named.entries()].toSorted(([one], [other]) => (one < other ? -1 : 1))),
  };
}

const parentOf = ({ path }: Home): string => path.replace(/\/:id$/, '');

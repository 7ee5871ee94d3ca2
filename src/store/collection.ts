/** Record schema → Mongoose model: one definition for the type, the stored fields and the guard against stray ones. */
import { Schema, type mongo, type Connection, type IndexDirection, type Model } from 'mongoose';
import { Type, type Static, type TObject } from '../contracts/schema';
import { madePer } from '../domain/memoised';

/** How long an operation waits for a store that is away, in milliseconds. */
export const STORE_WAIT_MS = 2_000;

/** A moment as MongoDB stores it; contracts show the same moment as an ISO string. */
export const Instant = () => Type.Unsafe<Date>({ 'x-instant': true });

/** Leaves these documents out of a query. */
export const idsBut = (except: readonly string[]) => (except.length > 0 ? { _id: { $nin: [...except] } } : {});

export interface Index {
  name: string;
  keys: Record<string, IndexDirection>;
  unique?: boolean;
  /** Only documents that match are indexed. */
  where?: Record<string, unknown>;
  expireAfterSeconds?: number;
}

const SCALARS: Record<string, unknown> = { string: String, number: Number, integer: Number, boolean: Boolean };

function pathType(schema: Record<string, unknown>): unknown {
  if (schema['x-instant']) return { type: Date };
  const scalar = SCALARS[String(schema['type'])];
  return { type: scalar ?? Schema.Types.Mixed };
}

/** A collection of the store: declared once at module level, opened per connection. */
export interface Collection<Record_> {
  readonly name: string;
  readonly indexes: Index[];
  /** The Mongoose model on this store's connection. Reads use `lean()`, writes `updateOne` and its kin, never `save`. */
  in(store: Store): Model<Record_>;
  /** Creates the indexes that are missing, by one command. */
  ensureIndexes(store: Store): Promise<void>;
}

/** The open store. Only modules below src/store look inside. */
export interface Store {
  readonly connection: Connection;
}

const declared: Collection<unknown>[] = [];
const modelsOf = madePer((_connection: Connection) => new Map<string, unknown>());

/** Every collection declared by the modules this process imports; used to create indexes at start. */
export const declaredCollections = (): readonly Collection<unknown>[] => declared;

/** Declares a collection. Unknown top-level fields are refused in writes and filters alike. */
export function collection<Shape extends TObject>(
  name: string,
  record: Shape,
  indexes: Index[],
): Collection<Static<Shape>> {
  const made: Collection<Static<Shape>> = {
    name,
    indexes,
    in(store) {
      const open = modelsOf(store.connection);
      if (!open.has(name)) open.set(name, store.connection.model(name, schemaOf(record), name));
      return open.get(name) as Model<Static<Shape>>;
    },
    async ensureIndexes(store) {
      if (indexes.length > 0) await made.in(store).collection.createIndexes(indexes.map(indexCommand));
    },
  };
  declared.push(made as unknown as Collection<unknown>);
  return made;
}

/** An index as the store's command wants it. */
export const indexCommand = ({ name, keys, unique, where, expireAfterSeconds }: Index): mongo.IndexDescription => ({
  name,
  key: keys as Record<string, mongo.IndexDirection>,
  ...(unique ? { unique } : {}),
  ...(where ? { partialFilterExpression: where } : {}),
  ...(expireAfterSeconds === undefined ? {} : { expireAfterSeconds }),
});

function schemaOf(record: TObject): Schema {
  const paths = Object.fromEntries(
    Object.entries(record.properties).map(([field, schema]) => [
      field,
      pathType(schema as unknown as Record<string, unknown>),
    ]),
  );
  return new Schema(paths as Record<string, never>, {
    strict: 'throw',
    strictQuery: 'throw',
    minimize: false,
    versionKey: false,
    autoIndex: false,
    autoCreate: false,
    id: false,
    bufferTimeoutMS: STORE_WAIT_MS,
  });
}

/** True when a write lost a race on a unique index. Code 1 is what DocumentDB answers from findAndModify. */
export function isDuplicate(error: unknown): boolean {
  const { code, message } = error as { code?: number; message?: string };
  return code === 11_000 || (code === 1 && /duplicate key/i.test(message ?? ''));
}

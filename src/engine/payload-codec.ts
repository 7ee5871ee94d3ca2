/**
 * Seals what workflow histories hold of people's data. Ids, steps, times and codes stay readable, so that the Web UI
 * tells what an execution does without a server that decrypts for it.
 */
import type { Payload, PayloadCodec } from '@temporalio/common';
import { hkdfSync } from 'node:crypto';
import { createSecretBox, type SecretBox } from '../domain/secret-box';

/**
 * Fields of inputs, results and failures that hold such data: what conditions ask for of events and answers, and the
 * texts of errors. Whatever else is data stays in the store.
 */
const MARKED = ['facts', 'error', 'message', 'stack_trace'] as const;
const SEALED = 'sealed:';

type Fields = Record<string, unknown>;

interface Key {
  /** Tells which key opens a text, and nothing of the key. */
  id: string;
  box: SecretBox;
}

const PURPOSE = 'workflow payload';
const ID_BYTES = 4;

const keyOf = (secret: string): Key => ({
  id: Buffer.from(hkdfSync('sha256', secret, '', `signalbox ${PURPOSE} id`, ID_BYTES)).toString('hex'),
  box: createSecretBox(secret, PURPOSE),
});

const isPlain = ({ metadata, data }: Payload): boolean =>
  !!data && Buffer.from(metadata?.['encoding'] ?? []).toString() === 'json/plain';

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value; undefined for what only says that it is JSON, as an operator's signal may, which its reader then ignores. */
function parsed({ data }: Payload): unknown {
  try {
    return JSON.parse(Buffer.from(data as Uint8Array).toString());
  } catch {
    return undefined;
  }
}

/** The payload with its marked fields as `change` makes them; the same payload when it has none. */
function withMarked(payload: Payload, change: (value: unknown, field: string) => unknown): Payload {
  if (!isPlain(payload)) return payload;
  const value = parsed(payload);
  if (!isFields(value)) return payload;
  const marked = MARKED.filter((field) => value[field] !== undefined && value[field] !== null);
  if (marked.length === 0) return payload;
  const changed = Object.fromEntries(marked.map((field) => [field, change(value[field], field)]));
  return { ...payload, data: Buffer.from(JSON.stringify({ ...value, ...changed })) };
}

const idOf = (sealed: string): string => sealed.slice(SEALED.length).split(':', 1)[0] ?? '';

/** The field as it was sealed; one that never was, before there was a key, as it is. */
function opened(keys: readonly Key[], value: unknown, field: string): unknown {
  if (typeof value !== 'string' || !value.startsWith(SEALED)) return value;
  const key = keys.find(({ id }) => id === idOf(value));
  const text = key?.box.open(value.slice(`${SEALED}${key.id}:`.length), field);
  if (typeof text === 'string') return JSON.parse(text);
  throw new Error(
    `TEMPORAL_PAYLOAD_KEY does not open the "${field}" of this workflow, which was sealed with the key ${idOf(value)}; name that key too, behind the one in use`,
  );
}

/** The codec of a deployment's keys: the first seals, all open. */
export function createPayloadCodec(secrets: readonly [string, ...string[]]): PayloadCodec {
  const keys = secrets.map(keyOf);
  const [{ id, box }] = keys as [Key, ...Key[]];
  const sealed = (value: unknown, field: string): string => `${SEALED}${id}:${box.seal(JSON.stringify(value), field)}`;
  return {
    encode: (payloads) => Promise.resolve(payloads.map((payload) => withMarked(payload, sealed))),
    decode: (payloads) =>
      Promise.resolve(payloads.map((payload) => withMarked(payload, (value, field) => opened(keys, value, field)))),
  };
}

/** What client and worker give their library; nothing when nothing is to be sealed. */
export function payloadCodecsOf(secrets: readonly string[]): { payloadCodecs?: PayloadCodec[] } {
  const [first, ...others] = secrets;
  return first === undefined ? {} : { payloadCodecs: [createPayloadCodec([first, ...others])] };
}

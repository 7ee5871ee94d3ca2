/** From a client's version to ours and back: the steps between the two, one after the other. */
import type { TSchema } from '../contracts/schema';
import type { ApiVersion, EventContent, OperationChange, Sent } from '../contracts/version';

/** The way of one operation between one version and the latest. */
export interface Passage {
  /** What clients of that version send, where it differs from what the latest takes. */
  query: TSchema | undefined;
  body: TSchema | undefined;
  /** Their request as the latest version has it. */
  up(sent: Sent): Sent;
  /** The latest version's answer as they know it. */
  down(body: unknown, status: number): unknown;
}

/** The steps after a version, the oldest first. */
const stepsSince = (versions: readonly ApiVersion[], from: string): ApiVersion[] =>
  versions.filter(({ date }) => date > from).toSorted((one, other) => (one.date < other.date ? -1 : 1));

/** Null when nothing about the operation has changed since: then nothing is to be done. */
export function passageOf(versions: readonly ApiVersion[], operationId: string, from: string): Passage | null {
  const steps: OperationChange[] = stepsSince(versions, from).flatMap(({ changes }) => changes[operationId] ?? []);
  if (steps.length === 0) return null;
  // The first step that names a shape names the one these clients send: no step before it touched that part.
  const shape = (part: 'query' | 'body') => steps.find(({ before }) => before?.[part])?.before?.[part];
  return {
    query: shape('query'),
    body: shape('body'),
    up: (sent) => steps.reduce((known, { request }) => (request ? request(known) : known), sent),
    down: (body, status) =>
      steps.reduceRight((known, { response }) => (response ? response(known, status) : known), body),
  };
}

/** What an event of a resource (`psa:ticket`) tells, as receivers of an earlier version know it. */
export const contentFor = (
  versions: readonly ApiVersion[],
  resource: string,
  { content, to }: { content: EventContent; to: string },
): EventContent =>
  stepsSince(versions, to)
    .flatMap(({ events }) => events?.[resource] ?? [])
    .reduceRight((known, step) => step(known), content);

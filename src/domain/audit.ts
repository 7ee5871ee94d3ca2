/** The audit chain: what is hashed, how entries are linked, and which is the first that does not fit. */
import { hash } from 'node:crypto';
import type { AuditEntry, ChainFault } from '../contracts/audit';
import { sortedJson } from './sorted-json';

/** An entry that has no place in the chain yet. */
export type AuditDraft = Omit<AuditEntry, 'sequence' | 'previousHash' | 'hash'>;

/** Who asked for a change, and by which request: kept with the change, for an entry that may be written later. */
export interface AskedBy {
  actor: AuditEntry['actor'];
  requestId: string;
}

/** The end of a chain so far. */
export type ChainHead = Pick<AuditEntry, 'sequence' | 'hash'>;

/** What the first entry follows. */
export const GENESIS: ChainHead = { sequence: 0, hash: '0'.repeat(64) };

const LONE_SURROGATE = /\p{Surrogate}/u;
/** The store holds UTF-8, which has no half characters; they are hashed as what they become there. */
const wellFormed = (text: string): string => (LONE_SURROGATE.test(text) ? Buffer.from(text).toString() : text);

/** The text that is hashed: the entry as clients read it, without its hash, keys sorted, no white space. */
export function canonicalForm(entry: Omit<AuditEntry, 'hash'>): string {
  const { hash: _hash, ...hashed } = entry as AuditEntry;
  return sortedJson(hashed, wellFormed);
}

export const hashOf = (entry: Omit<AuditEntry, 'hash'>): string => hash('sha256', canonicalForm(entry), 'hex');

/** The draft as the entry that follows `head`, holding nothing that JSON would lose. */
export function linkedTo(head: ChainHead, draft: AuditDraft): AuditEntry {
  const entry = { ...draft, sequence: head.sequence + 1, previousHash: head.hash };
  return { ...(JSON.parse(canonicalForm(entry)) as typeof entry), hash: hashOf(entry) };
}

function faultOf(head: ChainHead, entry: AuditEntry): ChainFault | null {
  const expected = head.sequence + 1;
  if (entry.sequence > expected) return { sequence: expected, reason: 'missing' };
  if (entry.sequence < expected) return { sequence: entry.sequence, reason: 'repeated' };
  // Content first: of an entry that was both edited and cut off, the edit is the news.
  if (entry.hash !== hashOf(entry)) return { sequence: expected, reason: 'altered' };
  return entry.previousHash === head.hash ? null : { sequence: expected, reason: 'unlinked' };
}

/** Walks entries in the order of their numbers, from `head` on, up to the first that does not fit. */
export function followChain(
  head: ChainHead,
  entries: readonly AuditEntry[],
): { head: ChainHead; fault: ChainFault | null } {
  let last = head;
  for (const entry of entries) {
    const fault = faultOf(last, entry);
    if (fault) return { head: last, fault };
    last = { sequence: entry.sequence, hash: entry.hash };
  }
  return { head: last, fault: null };
}

/** The names of the fields whose values differ. */
export const changedFields = (before: Record<string, unknown>, after: Record<string, unknown>): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((field) => sortedJson(before[field], wellFormed) !== sortedJson(after[field], wellFormed))
    .toSorted();

import { createHash } from 'node:crypto';
import { assert, constantFrom, dictionary, integer, jsonValue, nat, property, string, uniqueArray } from 'fast-check';
import type { AuditEntry } from '../../../src/contracts/audit';
import {
  canonicalForm,
  changedFields,
  followChain,
  GENESIS,
  hashOf,
  linkedTo,
  type AuditDraft,
} from '../../../src/domain/audit';

const draft = (more: Partial<AuditDraft> = {}): AuditDraft => ({
  id: 'aud_1',
  tenantId: 'org_1',
  at: '2026-11-20T22:40:00.000Z',
  actor: { kind: 'user', id: 'usr_1', label: 'ada@example.com', ip: null },
  action: 'api_key.updated',
  target: { kind: 'api_key', id: 'key_1', name: 'Sync' },
  details: { fields: ['name'], version: 2 },
  requestId: 'req_1',
  ...more,
});

const chainOf = (drafts: AuditDraft[]): AuditEntry[] =>
  drafts.reduce<AuditEntry[]>((chain, next) => [...chain, linkedTo(chain.at(-1) ?? GENESIS, next)], []);

const chainOfLength = (length: number): AuditEntry[] =>
  chainOf(Array.from({ length }, (_, index) => draft({ id: `aud_${index}`, details: { index } })));

/** What verification says of rows as the store would give them: in the order of their numbers. */
const faultIn = (rows: AuditEntry[]) =>
  followChain(
    GENESIS,
    rows.toSorted((one, other) => one.sequence - other.sequence),
  ).fault;

describe('the canonical form', () => {
  test('is JSON without the hash, keys sorted at every depth, no white space', () => {
    const entry = linkedTo(GENESIS, draft());
    expect(canonicalForm(entry)).toBe(
      '{"action":"api_key.updated","actor":{"id":"usr_1","ip":null,"kind":"user","label":"ada@example.com"},' +
        '"at":"2026-11-20T22:40:00.000Z","details":{"fields":["name"],"version":2},"id":"aud_1",' +
        `"previousHash":"${'0'.repeat(64)}","requestId":"req_1","sequence":1,` +
        '"target":{"id":"key_1","kind":"api_key","name":"Sync"},"tenantId":"org_1"}',
    );
    expect(entry.hash).toBe(createHash('sha256').update(canonicalForm(entry)).digest('hex'));
  });

  test('does not depend on the order in which keys were written', () => {
    assert(
      property(dictionary(string(), jsonValue()), (details) => {
        const reversed = Object.fromEntries(Object.entries(details).toReversed());
        const entry = linkedTo(GENESIS, draft({ details }));
        expect(hashOf({ ...entry, details: reversed })).toBe(entry.hash);
      }),
    );
  });

  test('keeps nothing that the store would change: absent values and half characters', () => {
    const entry = linkedTo(GENESIS, draft({ details: { absent: undefined, name: 'half \ud800' } }));
    expect(entry.details).toEqual({ name: 'half \ufffd' });
    expect(Object.keys(entry.details)).toEqual(['name']);
    expect(hashOf(JSON.parse(JSON.stringify(entry)) as AuditEntry)).toBe(entry.hash);
  });
});

describe('verification', () => {
  test('an untouched chain is whole, in one walk or in several', () => {
    const chain = chainOfLength(7);
    expect(followChain(GENESIS, chain)).toEqual({ head: { sequence: 7, hash: chain[6]?.hash }, fault: null });
    const half = followChain(GENESIS, chain.slice(0, 3));
    expect(followChain(half.head, chain.slice(3)).fault).toBeNull();
    expect(followChain(GENESIS, [])).toEqual({ head: GENESIS, fault: null });
  });

  test('whatever field of whatever row is edited, that row is named', () => {
    const edits: Partial<AuditEntry>[] = [
      { id: 'aud_other' },
      { tenantId: 'org_2' },
      { at: '2026-11-20T22:40:00.001Z' },
      { actor: { kind: 'user', id: 'usr_2', label: null, ip: null } },
      { action: 'api_key.revoked' },
      { target: { kind: 'api_key', id: 'key_2', name: null } },
      { details: {} },
      { requestId: null },
      { previousHash: 'f'.repeat(64) },
      { hash: 'f'.repeat(64) },
    ];
    assert(
      property(integer({ min: 1, max: 12 }), nat(), constantFrom(...edits), (length, seed, edit) => {
        const chain = chainOfLength(length);
        const at = seed % length;
        const edited = chain.map((entry, index) => (index === at ? { ...entry, ...edit } : entry));
        expect(faultIn(edited)).toEqual({ sequence: at + 1, reason: 'altered' });
      }),
    );
  });

  test('a row whose hash was made to fit again is given away by the next', () => {
    const chain = chainOfLength(4);
    const edited = chain.map((entry) => {
      const changed = { ...entry, details: { forged: true } };
      return entry.sequence === 2 ? { ...changed, hash: hashOf(changed) } : entry;
    });
    expect(faultIn(edited)).toEqual({ sequence: 3, reason: 'unlinked' });
  });

  test('a removed row is named by its number', () => {
    assert(
      property(integer({ min: 2, max: 12 }), nat(), (length, seed) => {
        const at = 1 + (seed % (length - 1));
        const rest = chainOfLength(length).filter(({ sequence }) => sequence !== at);
        expect(faultIn(rest)).toEqual({ sequence: at, reason: 'missing' });
      }),
    );
  });

  test('an inserted row is named, whether it shares a number or pushes the others on', () => {
    const chain = chainOfLength(5);
    const [first, second] = chain;
    if (!first || !second) throw new Error('no chain');
    const foreign = linkedTo(first, draft({ id: 'aud_forged' }));
    expect(faultIn([...chain.slice(0, 2), foreign, ...chain.slice(2)])).toEqual({ sequence: 2, reason: 'repeated' });
    const pushed = chain.slice(1).map((entry) => ({ ...entry, sequence: entry.sequence + 1 }));
    expect(faultIn([first, foreign, ...pushed])).toEqual({ sequence: 3, reason: 'altered' });
  });

  test('of rows that changed places the first is named', () => {
    assert(
      property(uniqueArray(integer({ min: 1, max: 9 }), { minLength: 2, maxLength: 2 }), ([one, other]) => {
        const swapped = chainOfLength(9).map((entry) => {
          if (entry.sequence === one) return { ...entry, sequence: Number(other) };
          return entry.sequence === other ? { ...entry, sequence: Number(one) } : entry;
        });
        expect(faultIn(swapped)).toEqual({ sequence: Math.min(Number(one), Number(other)), reason: 'altered' });
      }),
    );
  });
});

test('changed fields are those whose values differ, whatever the order of their keys', () => {
  expect(changedFields({ a: 1, b: { x: 1, y: 2 }, c: [1] }, { a: 2, b: { y: 2, x: 1 }, d: null })).toEqual([
    'a',
    'c',
    'd',
  ]);
});

import { API_VERSIONS, eachItem, type ApiVersion } from '../../../src/contracts/version';
import { Type } from '../../../src/contracts/schema';
import { passageOf } from '../../../src/domain/versioning';

const named = Type.Object({ name: Type.String() });
const titled = Type.Object({ title: Type.String() });
const rename = (from: string, to: string) => (body: unknown) => {
  const { [from]: value, ...rest } = body as Record<string, unknown>;
  return { ...rest, [to]: value };
};

/** `name` became `title` in 2027 and `heading` in 2028. */
const VERSIONS: ApiVersion[] = [
  { date: '2026-01-01', summary: '', changes: {} },
  {
    date: '2027-01-01',
    summary: '',
    changes: {
      make: {
        before: { body: named },
        request: ({ query, body }) => ({ query, body: rename('name', 'title')(body) }),
        response: rename('title', 'name'),
      },
    },
  },
  {
    date: '2028-01-01',
    summary: '',
    changes: {
      make: {
        before: { body: titled },
        request: ({ query, body }) => ({ query, body: rename('title', 'heading')(body) }),
        response: rename('heading', 'title'),
      },
      find: { response: eachItem(rename('heading', 'title')) },
    },
  },
];

test('steps are taken one after the other, up with the request and down with the answer', () => {
  const passage = passageOf(VERSIONS, 'make', '2026-01-01');
  expect(passage?.up({ query: {}, body: { name: 'x', size: 1 } })).toEqual({
    query: {},
    body: { heading: 'x', size: 1 },
  });
  expect(passage?.down({ heading: 'x', size: 1 }, 200)).toEqual({ name: 'x', size: 1 });
  expect(passage?.body).toBe(named);
});

test('a client in between takes only the later steps', () => {
  const passage = passageOf(VERSIONS, 'make', '2027-01-01');
  expect(passage?.up({ query: {}, body: { title: 'x' } })).toEqual({ query: {}, body: { heading: 'x' } });
  expect(passage?.down({ heading: 'x' }, 200)).toEqual({ title: 'x' });
  expect(passage?.body).toBe(titled);
});

test('items of a page are translated one by one, and what is beside them stays', () => {
  const page = { items: [{ heading: 'a' }, { heading: 'b' }], hasMore: false, missing: ['c'] };
  expect(passageOf(VERSIONS, 'find', '2026-01-01')?.down(page, 200)).toEqual({
    items: [{ title: 'a' }, { title: 'b' }],
    hasMore: false,
    missing: ['c'],
  });
});

test('nothing is to be done for the latest version, and for operations that never changed', () => {
  expect(passageOf(VERSIONS, 'make', '2028-01-01')).toBeNull();
  expect(passageOf(VERSIONS, 'other', '2026-01-01')).toBeNull();
});

test('the versions are dates, the oldest first, and each change names operations', () => {
  const dates = API_VERSIONS.map(({ date }) => date);
  expect(dates).toEqual([...new Set(dates)].toSorted());
  for (const date of dates) expect(new Date(date).toISOString().slice(0, 10)).toBe(date);
  expect(API_VERSIONS[0].changes).toEqual({});
});

/** Every example in the documentation is a request that would be accepted. */
import { allOperations } from '../../src/http/api-documents';
import { bodyValidator } from '../../src/http/validate';

const withBody = allOperations.flatMap((operation) =>
  operation.body
    ? [{ id: operation.id, body: operation.body, examples: Object.entries(operation.examples ?? {}) }]
    : [],
);
const examples = withBody.flatMap(({ id, body, examples: shown }) =>
  shown.map(([name, value]) => ({ id, name, body, value })),
);

test.each(examples)('$id: $name', ({ body, value }) => {
  expect(bodyValidator(body)(value)).toEqual([]);
});

test('every operation that takes a body shows one', () => {
  expect(withBody.filter(({ examples: shown }) => shown.length === 0).map(({ id }) => id)).toEqual([]);
});

/** What is sealed of a payload, and what opens it. */
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { createPayloadCodec, payloadCodecsOf } from '../../../src/engine/payload-codec';

const OLD = 'old-key-1c7e-old-key-1c7e-old-key-1c7e';
const NEW = 'new-key-88f2-new-key-88f2-new-key-88f2';
const INPUT = { execution_id: 'exe_1', facts: { 'event_payload.name': 'Ada' }, steps: [{ id: 'ask' }] };

const payloadOf = (value: unknown): Payload => defaultPayloadConverter.toPayload(value);
const valueOf = (payload: Payload | undefined): unknown => defaultPayloadConverter.fromPayload(payload as Payload);
const sealedBy = async (key: string, value: unknown): Promise<Payload> => {
  const [sealed] = await createPayloadCodec([key]).encode([payloadOf(value)]);
  return sealed as Payload;
};
const openedBy = async (keys: [string, ...string[]], payload: Payload): Promise<unknown> =>
  valueOf((await createPayloadCodec(keys).decode([payload]))[0]);

test('marked fields are sealed, each time anew, and all others stay readable', async () => {
  const first = await sealedBy(OLD, INPUT);
  const second = await sealedBy(OLD, INPUT);
  expect(valueOf(first)).toEqual({
    ...INPUT,
    facts: expect.stringMatching(/^sealed:[0-9a-f]{8}:s1\.[\w-]+$/) as unknown,
  });
  expect((valueOf(first) as typeof INPUT).facts).not.toEqual((valueOf(second) as typeof INPUT).facts);
  expect(await openedBy([OLD], first)).toEqual(INPUT);
});

test.each([
  { message: 'why', stack_trace: 'where' },
  { error: { code: 'x', message: 'y' } },
  { facts: {} },
  { message: '' },
])('%j comes back as it was', async (value) => {
  const sealed = await sealedBy(OLD, value);
  expect(JSON.stringify(valueOf(sealed))).not.toContain(JSON.stringify(Object.values(value)[0]));
  expect(await openedBy([OLD], sealed)).toEqual(value);
});

test.each([['text'], [7], [null], [[{ facts: { a: 1 } }]], [{ error: null, status: 'completed' }], [undefined]])(
  '%j holds nothing that is sealed',
  async (value) => {
    const payload = payloadOf(value);
    expect(await createPayloadCodec([OLD]).encode([payload])).toEqual([payload]);
    expect(await createPayloadCodec([OLD]).decode([payload])).toEqual([payload]);
  },
);

test('what was never sealed is read as it is', async () => {
  expect(await openedBy([OLD], payloadOf(INPUT))).toEqual(INPUT);
});

test('the first key seals and all open; with none of them the reason names the key that is missing, and none that is not', async () => {
  const old = await sealedBy(OLD, INPUT);
  expect(await openedBy([NEW, OLD], old)).toEqual(INPUT);
  const [renewed] = await createPayloadCodec([NEW, OLD]).encode([payloadOf(INPUT)]);
  expect(await openedBy([NEW], renewed as Payload)).toEqual(INPUT);
  const id = /sealed:([0-9a-f]{8})/.exec(String((valueOf(old) as { facts: unknown }).facts))?.[1] ?? '';
  await expect(openedBy([NEW], old)).rejects.toThrow(`sealed with the key ${id}`);
});

test('a sealed text that was changed, or moved to another field, is refused', async () => {
  const { facts } = valueOf(await sealedBy(OLD, INPUT)) as { facts: string };
  const changed = `${facts.slice(0, -2)}${facts.endsWith('AA') ? 'BB' : 'AA'}`;
  for (const forged of [{ facts: changed }, { error: facts }, { facts: 'sealed:' }, { facts: 'sealed:0:x' }])
    await expect(openedBy([OLD], payloadOf(forged))).rejects.toThrow('TEMPORAL_PAYLOAD_KEY does not open');
});

test('without a key nothing is put between', () => {
  expect(payloadCodecsOf([])).toEqual({});
  expect(payloadCodecsOf([OLD]).payloadCodecs).toHaveLength(1);
});

test('what only says that it is JSON is passed on as it came', async () => {
  const data = Buffer.from('{"decision":');
  const payload = { metadata: { encoding: Buffer.from('json/plain') }, data };
  expect(await createPayloadCodec([OLD]).decode([payload])).toEqual([payload]);
});

/** Mails to owners: one who cannot be reached keeps nobody else from them, and has nobody told twice. */
import { readConfig } from '../../src/config';
import { newId } from '../../src/domain/ids';
import { connectEngine, type Engine } from '../../src/engine/connect';
import { agents } from '../../src/store/agents';
import { insertUser } from '../../src/store/users';
import { webhooks } from '../../src/store/webhooks';
import { newUser } from '../integration/auth/support';
import { register } from '../integration/webhooks/support';
import { sweep } from '../support/engine';
import { joinStack, type Harness, type TestOrg } from '../support/harness';
import { subjectsTo } from '../support/mailbox';
import { storedAgent } from '../support/records';

jest.setTimeout(60_000);

/** More than a pass tells of. */
const MANY = 60;
/** Addresses that the inbox refuses: for good, and for now. */
const GONE = 'bounced@sink.test';
const BUSY = 'deferred@sink.test';

let harness: Harness;
let engine: Engine;
let org: TestOrg;
beforeAll(() => {
  harness = joinStack();
  engine = connectEngine(readConfig(harness.address.env).temporal);
});
beforeEach(async () => {
  org = await harness.newOrg();
});
afterEach(async () => {
  await webhooks.in(harness.store).deleteMany({ orgId: org.id });
  await agents.in(harness.store).deleteMany({ org_id: org.id });
  await harness.store.connection.collection('users').deleteMany({ email: { $in: [GONE, BUSY] } });
});
afterAll(async () => {
  await engine.close();
  await harness.close();
});

/** Owners in the order they are told in. */
async function owner(email?: string): Promise<string> {
  if (email === undefined) return (await newUser(harness.store, org.id)).email;
  const user = { displayName: 'Gone', role: 'owner' as const, passwordHash: null, disabledAt: null };
  await insertUser(harness.store, { _id: newId('usr'), orgId: org.id, email, ...user, createdAt: new Date() });
  return email;
}

const mailsTo = (address: string) => subjectsTo(harness.address.inboxUrl, address);

/** An endpoint that has come half way to being switched off. */
async function failingEndpoint(): Promise<string> {
  const { id } = await register(org, 'https://hooks.example.com/a');
  await halfWay(id);
  return id;
}

const halfWay = (id: string) =>
  webhooks
    .in(harness.store)
    .updateOne({ _id: id }, { $set: { failingSince: new Date(), failures: 9, noticeStage: 50, noticeDue: true } });

/** As the next sweep finds it that comes late enough to try again. */
const later = (id: string) =>
  webhooks.in(harness.store).updateOne({ _id: id }, { $set: { noticeTakenUntil: new Date(0) } });

const isDue = async (id: string) => (await webhooks.in(harness.store).findById(id).lean())?.noticeDue;

test('an owner whose address is gone has the others told once, and then nobody is told again', async () => {
  const [first, , last] = [await owner(), await owner(GONE), await owner()];
  const id = await failingEndpoint();
  for (let pass = 0; pass < 3; pass += 1) {
    await later(id);
    await sweep(engine);
  }
  expect([await mailsTo(first), await mailsTo(last)]).toMatchObject([{ length: 1 }, { length: 1 }]);
  expect(await isDue(id)).toBe(false);
});

test('an owner whose mailbox takes nothing for now is tried again, alone', async () => {
  const [first, , last] = [await owner(), await owner(BUSY), await owner()];
  const id = await failingEndpoint();
  for (let pass = 0; pass < 3; pass += 1) {
    await later(id);
    await sweep(engine);
  }
  expect([await mailsTo(first), await mailsTo(last)]).toMatchObject([{ length: 1 }, { length: 1 }]);
  expect(await isDue(id)).toBe(true);
  await halfWay(id);
  await webhooks.in(harness.store).updateOne({ _id: id }, { $set: { noticeStage: 75, noticeTold: [] } });
  await later(id);
  await sweep(engine);
  expect(await mailsTo(first)).toHaveLength(2);
});

test('an agent that was stopped is told of once, whichever owner cannot be reached', async () => {
  const [first, , last] = [await owner(), await owner(BUSY), await owner()];
  const id = await storedAgent(harness.store, org.id, [{ type: 'set_variables', id: 'vars', values: { a: 1 } }]);
  const info = {
    code: 'runs_failed_in_a_row',
    message: 'The last 5 runs failed.',
    since: new Date(),
    execution_ids: [],
  };
  for (let pass = 0; pass < 3; pass += 1) {
    const stopped = { status: 'error', error_info: info, notice_at: new Date(0) };
    await agents.in(harness.store).collection.updateOne({ _id: id } as never, { $set: stopped });
    await sweep(engine);
  }
  expect([await mailsTo(first), await mailsTo(last)]).toMatchObject([{ length: 1 }, { length: 1 }]);
});

test('many notices that cannot leave do not keep another org from its own', async () => {
  const broken = org;
  await owner(BUSY);
  const record = await webhooks
    .in(harness.store)
    .findById(await failingEndpoint())
    .lean();
  const others = Array.from({ length: MANY }, () => ({ ...record, _id: newId('whk'), seat: undefined }));
  await webhooks.in(harness.store).insertMany(others.map(({ seat: _seat, ...rest }) => rest) as never);
  org = await harness.newOrg();
  try {
    const address = await owner();
    await failingEndpoint();
    await sweep(engine);
    await sweep(engine);
    expect(await mailsTo(address)).toHaveLength(1);
  } finally {
    await webhooks.in(harness.store).deleteMany({ orgId: broken.id });
  }
});

import { mongo } from 'mongoose';
import { isStoreBusy, isStoreDown, isStoreRefusal, isStoreUnreached } from '../../../src/store/outages';

const serverError = (message: string, code = 1) => new mongo.MongoServerError({ message, code });

test.each([
  'msg_find.go:43 (handler.(*Handler).msgFind): pool.go:90: failed to connect to `user=postgres database=postgres`',
  'terminating connection due to unexpected postmaster exit',
  'unexpected EOF',
  'write failed: write tcp 127.0.0.1:27094: write: broken pipe',
  'read tcp 127.0.0.1:27094: read: connection reset by peer',
  'conn closed',
  'the database system is starting up',
])('FerretDB without its PostgreSQL is a store that is away: %s', (message) => {
  expect(isStoreDown(serverError(message))).toBe(true);
});

test.each([
  new mongo.MongoNetworkError('connect ECONNREFUSED 127.0.0.1:27017'),
  Object.assign(new Error('x'), { name: 'MongooseServerSelectionError' }),
  Object.assign(new Error('x'), { name: 'MongoPoolClearedError' }),
  // What a socket says while a command is written to it, the driver passes on as it is.
  Object.assign(new Error('This socket has been ended by the other party'), { code: 'EPIPE' }),
  Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }),
  Object.assign(new Error('Cannot call write after a stream was destroyed'), { code: 'ERR_STREAM_DESTROYED' }),
])('so is one that the driver does not reach: %s', (error) => {
  expect(isStoreDown(error)).toBe(true);
});

test.each([
  [new mongo.MongoNetworkError('connection 3 to 127.0.0.1:27017 closed'), false],
  [new mongo.MongoServerSelectionError('connect ECONNREFUSED 127.0.0.1:27017', {} as never), true],
])('so is one that is away from a bulk write: %s', (error, isUnreached) => {
  const thrown = new mongo.MongoBulkWriteError(error, {} as never);
  expect([isStoreDown(thrown), isStoreUnreached(thrown)]).toEqual([true, isUnreached]);
});

test.each([
  serverError('duplicate key value', 11_000),
  serverError('cannot parse', 9),
  new TypeError('x is undefined'),
])('a store that refuses, and a bug of ours, are no outage: %s', (error) => {
  expect([isStoreDown(error), isStoreBusy(error)]).toEqual([false, false]);
});

test('an operation that ran into its time limit met a busy store', () => {
  expect(isStoreBusy(serverError('operation exceeded time limit', 50))).toBe(true);
});

test.each([
  serverError('invalid input syntax for BSON. Code: 32, Message BSON document nesting depth is too deep', 2),
  serverError('Size 17000057 is larger than MaxDocumentSize 16777216', 17_419),
  serverError('Resulting document after update is larger than 16777216', 17_419),
  new RangeError('The value of "offset" is out of range. It must be >= 0 && <= 17825792'),
  new mongo.BSON.BSONError('key must not contain null bytes'),
])('what is refused for what it holds is refused for good: %s', (error) => {
  expect([isStoreRefusal(error), isStoreDown(error)]).toEqual([true, false]);
});

test.each([
  new mongo.MongoNetworkError('connection 3 to 127.0.0.1:27017 closed'),
  serverError('terminating connection due to unexpected postmaster exit'),
  serverError('operation exceeded time limit', 50),
  serverError('deadlock detected'),
])('an outage is no refusal: %s', (error) => {
  expect(isStoreRefusal(error)).toBe(false);
});

test.each([
  new mongo.MongoServerSelectionError('connect ECONNREFUSED 127.0.0.1:27017', {} as mongo.TopologyDescription),
  Object.assign(new Error('x'), { name: 'MongooseServerSelectionError' }),
  new Error('Operation `key_usage.bulkWrite()` buffering timed out after 10000ms'),
])('an operation for which no connection was had was surely not done: %s', (error) => {
  expect([isStoreUnreached(error), isStoreDown(error)]).toEqual([true, true]);
});

test.each([
  new mongo.MongoNetworkError('connection 3 to 127.0.0.1:27017 closed'),
  new mongo.MongoNetworkTimeoutError('connection 3 to 127.0.0.1:27017 timed out'),
  serverError('unexpected EOF'),
  serverError('operation exceeded time limit', 50),
])('whether one was done whose reply was lost, nobody knows: %s', (error) => {
  expect(isStoreUnreached(error)).toBe(false);
});

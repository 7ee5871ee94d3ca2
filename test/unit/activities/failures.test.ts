import { ApplicationFailure } from '@temporalio/activity';
import { mongo } from 'mongoose';
import { effectFailure } from '../../../activities/failures';
import { ProviderError } from '../../../src/providers/error';

/** What the engine is told of an error in the last attempt that a step has. */
const inLastAttempt = (error: unknown): unknown => effectFailure(error, { attempts: 4 }, 4);

const socketError = (code: string): Error => Object.assign(new Error(`write ${code}`), { code });

test.each([
  ['a connection that ended', new mongo.MongoNetworkError('connection 3 to 127.0.0.1:27017 closed')],
  ['no connection', new mongo.MongoServerSelectionError('connect ECONNREFUSED', {} as never)],
  ['a socket that broke under a command', socketError('EPIPE')],
  ['a socket that was reset', socketError('ECONNRESET')],
])('%s to our own store uses up no attempt', (_what, error) => {
  expect(inLastAttempt(error)).toBe(error);
});

test.each([
  ['what the outside does', new ProviderError('timeout', 'The model did not answer.'), 'timeout'],
  ['a mistake of ours', new TypeError('x is not a function'), 'step_failed'],
])('%s does', (_what, error, type) => {
  const failure = inLastAttempt(error) as ApplicationFailure;
  expect(failure).toBeInstanceOf(ApplicationFailure);
  expect([failure.type, failure.nonRetryable, failure.message]).toEqual([
    type,
    true,
    expect.stringContaining('Gave up after 4 attempts.'),
  ]);
});

/** What operators read of requests that could not be served. */
import type { Response } from 'express';
import type { Context } from '../../../src/context';
import { problem } from '../../../src/contracts/problem';
import { refuse } from '../../../src/http/refuse';

function logged(thrown: unknown): unknown[] {
  const lines: unknown[] = [];
  const log = Object.fromEntries(
    ['debug', 'info', 'warn', 'error'].map((level) => [
      level,
      (message: string, fields: unknown) => lines.push([level, message, fields]),
    ]),
  );
  const response = { headersSent: true } as Response;
  refuse(thrown, 'agents', { response, requestId: 'req_1' }, { log } as unknown as Context);
  return lines;
}

test('an outage is a line that says what is away, without a stack for each request', () => {
  expect(logged(problem('engine_unavailable'))).toEqual([
    [
      'warn',
      'engine_unavailable',
      { request_id: 'req_1', why: 'The workflow engine cannot be reached; retry shortly.' },
    ],
  ]);
  const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:27017'), { code: 'ECONNRESET' });
  expect(logged(refused)).toEqual([
    ['warn', 'store_unavailable', { request_id: 'req_1', why: 'connect ECONNREFUSED 127.0.0.1:27017' }],
  ]);
});

test('a mistake of ours is an error with all there is, and a refusal of the caller is no line at all', () => {
  const error = new TypeError('x is undefined');
  expect(logged(error)).toEqual([['error', 'internal_error', { request_id: 'req_1', error }]]);
  expect(logged(problem('not_found'))).toEqual([]);
});

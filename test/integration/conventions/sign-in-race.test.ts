/** Many sign-ins of one person at the same time: each lets them in or says to try again, none fails on our side. */
import { joinStack, type Harness } from '../../support/harness';
import { newClient, newPerson, openSession } from '../auth/portal-support';

const AT_ONCE = 40;

let harness: Harness;
beforeAll(() => {
  harness = joinStack();
});
afterAll(() => harness.close());

test('a client user who is signed in forty times at once gets sessions, or 409 and the advice to try again', async () => {
  const org = await harness.newOrg();
  const person = await newPerson(org, await newClient(org, 'Northwind'));
  const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => openSession(org, person)));
  expect(answers.filter(({ status }) => status === 201).length).toBeGreaterThan(0);
  for (const { status, text } of answers.filter((answer) => answer.status !== 201)) {
    expect([status, text]).toEqual([409, expect.stringContaining('try again')]);
  }
});

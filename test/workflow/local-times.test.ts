/** Times as the org's people read them: texts and rules know its time zone. */
import { changeTenant } from '../../src/store/tenants';
import { activeAgent, definitionWith, run } from '../support/agents';
import { joinStack, list, text, waitForExecution, type Harness } from '../support/harness';

let harness: Harness;
beforeAll(() => {
  harness = joinStack();
});
afterAll(() => harness.close());

test('a text names a time by the clock of the org, also in a retry', async () => {
  const org = await harness.newOrg();
  await changeTenant(harness.store, org.id, { timezone: 'Asia/Tokyo' });
  const due = '{{date event_payload.due_at "DD.MM.YYYY HH:mm" org.timezone}}';
  const when = { field: 'org.timezone', operator: 'eq', value: 'Asia/Tokyo' };
  await activeAgent(
    org,
    definitionWith([
      { type: 'set_variables', id: 'texts', values: { due }, when },
      { type: 'notification', id: 'fails', channel: 'sms', recipients: ['nobody'], body: due },
    ]),
  );
  const first = await run(org, { due_at: '2026-11-20T16:00:00Z' });
  const failed = await waitForExecution(org, first, ['failed']);
  expect(list(failed['steps'])[0]?.['output']).toEqual({ due: '21.11.2026 01:00' });
  const retried = await org.call('POST', `/agents/api/executions/${first}/retry`);
  const again = await waitForExecution(org, text(retried.body['id']), ['failed']);
  expect(list(again['steps'])[0]?.['output']).toEqual({ due: '21.11.2026 01:00' });
});

test('an agent and its steps know what time it is where the org is', async () => {
  const org = await harness.newOrg();
  // As many hours ahead as make it half a day later: no clock shows the same hour there.
  await changeTenant(harness.store, org.id, { timezone: 'Etc/GMT-12' });
  const isLocal = () => {
    const hours = [0, 1].map((later) => (new Date().getUTCHours() + 12 + later) % 24);
    return { field: 'now.local_hour', operator: 'in', value: hours };
  };
  const step = { type: 'set_variables', id: 'local', values: { done: true }, when: isLocal() };
  await activeAgent(org, { ...definitionWith([step]), conditions: [isLocal()] });
  const done = await waitForExecution(org, await run(org), ['completed']);
  expect(text(list(done['steps'])[0]?.['status'])).toBe('completed');
});

test('a change of the clock holds from the next event on', async () => {
  const org = await harness.newOrg();
  const local = '{{date event_payload.due_at "HH:mm" org.timezone}}';
  await activeAgent(org, definitionWith([{ type: 'set_variables', id: 'texts', values: { local } }]));
  const shown = async () => {
    const { steps } = await waitForExecution(org, await run(org, { due_at: '2026-11-20T16:00:00Z' }), ['completed']);
    return list(steps)[0]?.['output'];
  };
  expect(await shown()).toEqual({ local: '16:00' });
  await changeTenant(harness.store, org.id, { timezone: 'Asia/Tokyo' });
  expect(await shown()).toEqual({ local: '01:00' });
});

import { webhookCatalog } from '../../../src/catalog/agent-events';
import { checkWebhook } from '../../../src/domain/webhooks/check';

const settings = { catalog: webhookCatalog, allowLoopback: false };
const filters = (count: number) =>
  Array.from({ length: count }, () => ({ field: 'subject', operator: 'matches' as const, value: '(.?){100}b' }));

test.each([['psa:ticket.created'], ['psa:custom.door_opened']])(
  'the patterns of an endpoint for %s count together',
  (eventType) => {
    const asking = { eventTypes: [eventType], url: 'https://hooks.example.com/in' };
    expect(checkWebhook({ ...asking, filters: filters(2) }, settings)).toEqual([]);
    expect(checkWebhook({ ...asking, filters: filters(3) }, settings)).toEqual([
      expect.objectContaining({ path: '/filters/2/value', code: 'invalid_value' }),
    ]);
  },
);

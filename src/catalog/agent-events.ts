/** What agents report about their own work. It reaches webhooks and the event log and never starts an agent. */
import type { EventCatalogEntry } from '../contracts/event';
import * as f from './event-fields';
import { eventCatalog } from './events';

export const AGENTS_PRODUCT = 'agents';

const EXECUTION: f.Fields = {
  execution_id: f.id('exe_2Z6K0X4V8C1M3N5B7A9S0D2F4G'),
  agent_id: f.id('agt_01K0ZQ8X6N'),
  agent_name: f.text('Ticket triage'),
  status: f.text('completed'),
  status_reason: f.text('step_failed'),
  trigger: f.text('psa:ticket.created'),
  event_id: f.id('evt_7K2M4N6P8Q0R1S3T5V7W9X0Y2Z'),
  credits_used: f.whole(3),
  attempt_no: f.whole(1),
  ...f.CLIENT,
  created_at: f.moment('2026-11-20T22:40:00.000Z'),
};

const APPROVAL: f.Fields = {
  approval_id: f.id('apr_3C5D7E9F1G2H4J6K8M0N1P3Q5R'),
  execution_id: f.id('exe_2Z6K0X4V8C1M3N5B7A9S0D2F4G'),
  agent_id: f.id('agt_01K0ZQ8X6N'),
  step_id: f.text('gate'),
  message: f.hidden('Restart the print spooler on PRN-04?'),
  status: f.text('pending'),
  decided_by: f.id('usr_ada'),
  decided_by_name: f.text('ada@example.com'),
  created_at: f.moment('2026-11-20T22:40:00.000Z'),
  expires_at: f.moment('2026-11-21T22:40:00.000Z'),
};

const AGENT: f.Fields = {
  agent_id: f.id('agt_01K0ZQ8X6N'),
  agent_name: f.text('Ticket triage'),
  status: f.text('error'),
  code: f.text('runs_failed_in_a_row'),
  message: f.hidden('The last 5 runs failed; the newest with blocked_address.'),
  since: f.moment('2026-11-20T22:40:00.000Z'),
  execution_ids: f.listOf(['exe_2Z6K0X4V8C1M3N5B7A9S0D2F4G']),
};

const reportsOf =
  (noun: string, fields: f.Fields) =>
  (what: string, title: string, about: string): EventCatalogEntry =>
    f.event(`${AGENTS_PRODUCT}:${noun}.${what}`, { category: 'operations', name: title, about, fields });

const execution = reportsOf('execution', EXECUTION);
const approval = reportsOf('approval', APPROVAL);
const agent = reportsOf('agent', AGENT);

/** The events of source product `agents`. */
export const AGENT_EVENTS: readonly EventCatalogEntry[] = [
  execution('completed', 'Execution completed', 'An agent did all its steps.'),
  execution('failed', 'Execution failed', 'An execution ended without doing its work; `status_reason` says why.'),
  execution('cancelled', 'Execution cancelled', 'An execution was cancelled or its approval denied.'),
  execution('waiting_approval', 'Execution waits', 'An execution waits for a person to decide.'),
  approval('requested', 'Approval requested', 'A person is asked to decide.'),
  approval('approved', 'Approval given', 'A person said yes.'),
  approval('denied', 'Approval denied', 'A person said no, or the execution ended before anybody decided.'),
  approval('expired', 'Approval expired', 'Nobody decided in time.'),
  agent('stopped', 'Agent stopped', 'An agent whose runs kept failing was stopped; `message` says why.'),
];

/** Everything a webhook can ask for: what starts agents, and what agents report. */
export const webhookCatalog: readonly EventCatalogEntry[] = [...eventCatalog.all, ...AGENT_EVENTS];

const reports: ReadonlySet<string> = new Set(AGENT_EVENTS.map(({ id }) => id));

/** True for what agents report about themselves. */
export const isAgentReport = (event: { source_product: string; event_type: string }): boolean =>
  reports.has(`${event.source_product}:${event.event_type}`);

/** What definitions that must be refused are made of. */

export type Fields = Record<string, unknown>;

export interface BadDefinition {
  what: string;
  /** Fields laid over a good definition; `undefined` leaves one out. */
  fields: Fields;
  /** JSON pointer of the finding. */
  path: string;
  code?: string;
  suggestion?: string;
  /** Left out where a PUT of these fields would be something else than a bad definition. */
  createOnly?: true;
}

export const GOOD_TRIGGER = { type: 'bus_event', event_type: 'ticket.created', source_product: 'psa', filters: [] };
export const DELAY = { type: 'delay', id: 'wait', for: '1s' };
export const GOOD: Fields = { name: 'Good', trigger: GOOD_TRIGGER, steps: [DELAY] };

export const trigger = (more: Fields): Fields => ({ trigger: { ...GOOD_TRIGGER, ...more } });
export const filter = (field: string, operator: string, ...value: unknown[]): Fields =>
  trigger({ filters: [{ field, operator, ...(value.length > 0 ? { value: value[0] } : {}) }] });
export const steps = (...list: Fields[]): Fields => ({ steps: list });
export const conditions = (...list: unknown[]): Fields => ({ conditions: list });
export const rule = (field: string, operator: string, value: unknown): Fields => ({ field, operator, value });
export const mail = (more: Fields): Fields => ({
  type: 'notification',
  id: 'mail',
  channel: 'email',
  recipients: ['a@example.com'],
  body: 'Hello',
  ...more,
});
export const says = (body: string): Fields => steps(mail({ body }));
export const think = (more: Fields): Fields => ({ type: 'ai_reason', id: 'think', prompt: 'Think', ...more });
export const call = (more: Fields): Fields => ({
  type: 'http_request',
  id: 'call',
  url: 'https://example.com/',
  ...more,
});
export const gate = (more: Fields): Fields => ({ type: 'approval_gate', id: 'gate', message: 'Go on?', ...more });
export const ALWAYS = rule('event_payload.priority', 'eq', 'high');
export const branch = (list: Fields[], more: Fields = {}): Fields => ({
  type: 'branch',
  id: 'fork',
  branches: [{ name: 'left', when: ALWAYS, steps: list }],
  ...more,
});
export const nested = (depth: number): Fields =>
  depth === 0 ? DELAY : { ...branch([nested(depth - 1)]), id: `fork${depth}` };
export const not = (depth: number): unknown => (depth === 0 ? ALWAYS : { not: not(depth - 1) });
export const many = (count: number): Fields[] =>
  Array.from({ length: count }, (_unused, index) => ({ ...DELAY, id: `s${index}` }));

/** Step definitions: what an agent may do, told apart by `type`. */
import { ConditionReference, type Condition } from './condition';
import { STEP_ID_PATTERN, VARIABLE_PATTERN } from './patterns';
import { Anything, Closed, Duration, Enum, Json, Reference, Tagged, Type, type Static, type TSchema } from './schema';

export const MODEL_TIERS = ['quick', 'standard', 'premium', 'expert'] as const;
export type ModelTier = (typeof MODEL_TIERS)[number];

/** Of a notification, also when a placeholder brings a list of them. */
export const RECIPIENTS_MAX = 50;
export const CHANNELS = ['email', 'sms', 'slack', 'teams', 'webhook'] as const;

export const StepId = Type.String({
  pattern: STEP_ID_PATTERN,
  description: 'Name of the step, unique in the agent; later steps refer to it as `steps.<id>.output`',
});

const common = {
  id: StepId,
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 120 })),
  when: Type.Optional(ConditionReference()),
  timeout: Type.Optional(
    Duration({
      description:
        'Longest time one attempt of an outside step may take, 1 s to 1 h. Unless named: 30 s for `http_request`, 1 minute for `notification`, 55 s for `ai_reason` (290 s for `premium` and `expert`)',
    }),
  ),
  retry: Type.Optional(
    Closed({
      max_attempts: Type.Integer({ minimum: 1, maximum: 20 }),
      initial: Type.Optional(Duration()),
      max: Type.Optional(Duration()),
    }),
  ),
  on_error: Type.Optional(
    Enum(['fail', 'continue'], { description: 'What a failed step does to the execution; `fail` unless named' }),
  ),
};

/** Declares one member of the union; the literal type of `type` is kept for exhaustive switches. */
const step = <Name extends string, Fields extends Record<string, TSchema>>(type: Name, id: string, fields: Fields) =>
  Closed({ type: Type.Literal(type), ...common, ...fields }, { $id: id });

export const AiReasonStep = step('ai_reason', 'AiReasonStep', {
  tier: Type.Optional(Enum(MODEL_TIERS, { description: '`standard` unless named' })),
  prompt: Type.String({ minLength: 1, maxLength: 32_000 }),
  output_schema: Type.Optional(Json({ description: 'JSON Schema of an object the model must return' })),
  max_output_tokens: Type.Optional(Type.Integer({ minimum: 16, maximum: 32_000 })),
});

export const NotificationStep = step('notification', 'NotificationStep', {
  channel: Enum(CHANNELS),
  recipients: Type.Array(Type.String({ minLength: 1, maxLength: 320 }), {
    minItems: 1,
    maxItems: RECIPIENTS_MAX,
    description:
      'Who is told, each by a text of its own. One that is exactly a `{{path}}` to a list is everybody in the list',
  }),
  subject: Type.Optional(Type.String({ minLength: 1, maxLength: 998 })),
  body: Type.String({ minLength: 1, maxLength: 64_000 }),
});

const OrgUsersApprovers = Closed({ type: Type.Literal('org_users') }, { $id: 'OrgUsersApprovers' });

const PortalContactApprovers = Closed(
  {
    type: Type.Literal('portal_contact'),
    contact: Type.String({
      minLength: 1,
      maxLength: 320,
      description: 'Id of the contact, mostly a placeholder such as `{{event_payload.contact_id}}`',
    }),
  },
  { $id: 'PortalContactApprovers' },
);

/** Who may decide beside the org's own users and keys. */
const Approvers = Tagged<Static<typeof OrgUsersApprovers> | Static<typeof PortalContactApprovers>>(
  'type',
  [OrgUsersApprovers, PortalContactApprovers].map((member) => ({ $ref: member.$id }) as unknown as TSchema),
  { $id: 'Approvers' },
);

export const ApprovalGateStep = step('approval_gate', 'ApprovalGateStep', {
  message: Type.String({ minLength: 1, maxLength: 4_000 }),
  expires_in: Type.Optional(Duration({ description: '5 minutes to 30 days; 24 hours unless named' })),
  approvers: Type.Optional(Reference<Static<typeof Approvers>>('Approvers')),
});

export const HttpRequestStep = step('http_request', 'HttpRequestStep', {
  method: Type.Optional(Enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])),
  url: Type.String({ minLength: 1, maxLength: 2_000 }),
  headers: Type.Optional(
    Type.Unsafe<Record<string, string>>({
      type: 'object',
      // A pattern of names alone would leave all others open.
      propertyNames: {
        pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$",
        description: "letters, digits and !#$%&'*+.^_`|~- only, such as X-Request-Id",
      },
      additionalProperties: { type: 'string', maxLength: 4_000 },
      maxProperties: 30,
    }),
  ),
  body: Type.Optional(Anything({ description: 'JSON to send; placeholders inside its strings are filled in' })),
  expect_status: Type.Optional(Type.Array(Type.Integer({ minimum: 100, maximum: 599 }), { minItems: 1, maxItems: 20 })),
});

export const DelayStep = step('delay', 'DelayStep', { for: Duration({ description: 'At most 30 days' }) });

export const SetVariablesStep = step('set_variables', 'SetVariablesStep', {
  values: Json({ minProperties: 1, maxProperties: 50, propertyNames: { pattern: VARIABLE_PATTERN } }),
});

const Steps = Type.Array(Reference<unknown>('Step'), { minItems: 1, maxItems: 20 });

export const BranchStep = step('branch', 'BranchStep', {
  branches: Type.Array(Closed({ name: StepId, when: ConditionReference(), steps: Steps }), {
    minItems: 1,
    maxItems: 10,
  }),
  else: Type.Optional(Steps),
});

interface BranchArm {
  name: string;
  when: Condition;
  steps: Step[];
}
/** Only the nested positions are spelled out by hand: the schema library cannot infer a type that contains itself. */
export type BranchStep = Omit<Static<typeof BranchStep>, 'branches' | 'else'> & {
  branches: BranchArm[];
  else?: Step[];
};

export type LeafStep =
  | Static<typeof AiReasonStep>
  | Static<typeof NotificationStep>
  | Static<typeof ApprovalGateStep>
  | Static<typeof HttpRequestStep>
  | Static<typeof DelayStep>
  | Static<typeof SetVariablesStep>;
export type Step = LeafStep | BranchStep;
export type StepType = Step['type'];
export type StepOf<Type extends StepType> = Extract<Step, { type: Type }>;

const MEMBERS = [
  AiReasonStep,
  NotificationStep,
  ApprovalGateStep,
  HttpRequestStep,
  DelayStep,
  SetVariablesStep,
  BranchStep,
];

export const STEP_TYPES = [
  'ai_reason',
  'notification',
  'approval_gate',
  'http_request',
  'branch',
  'delay',
  'set_variables',
] as const;

export const Step = Tagged<Step>(
  'type',
  MEMBERS.map((member) => ({ $ref: String(member.$id) }) as unknown as TSchema),
  { $id: 'Step' },
);

/** Schemas that refer to each other by `$id`; both ajv and OpenAPI register them by that name. */
export const STEP_SCHEMAS: TSchema[] = [OrgUsersApprovers, PortalContactApprovers, Approvers, ...MEMBERS, Step];

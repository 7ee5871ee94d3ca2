/** Checks steps in the order they run, each against what will be known by then. */
import { STEP_STATUSES } from '../../contracts/execution';
import type { BranchStep, Step, StepOf } from '../../contracts/step';
import { isHeaderText, isReservedHeader } from '../headers';
import { flattenSteps } from '../plan';
import { readTemplate } from '../placeholders';
import { hasWrittenHost } from '../text';
import { below, type Findings } from './findings';
import { BRANCH_DEPTH_MAX, checkDurations, STEPS_MAX } from './limits';
import { checkTexts, type Readable } from './references';
import { checkCondition } from './rules';
import { ANY, object, outputShape, value, variablesOf, type Shape } from './shapes';

/** What steps before this one leave behind. */
interface Known {
  steps: Record<string, Shape>;
  vars: Record<string, Shape>;
}

/** What stays the same for all steps of one definition. */
export interface Surroundings {
  findings: Findings;
  /** Roots of rules and of texts, beside `steps` and `vars`. */
  ruleRoots: Record<string, Shape>;
  textRoots: Record<string, Shape>;
  compiles: (schema: Record<string, unknown>) => string | null;
}

interface Walk extends Surroundings {
  stepIds: Set<string>;
}

const rulesSee = (walk: Walk, known: Known): Shape =>
  object({ ...walk.ruleRoots, steps: object(known.steps), vars: object(known.vars) });

const textsSee = (walk: Walk, known: Known): Readable => ({
  root: object({ ...walk.textRoots, steps: object(known.steps), vars: object(known.vars) }),
  stepIds: walk.stepIds,
});

/** Variables set on several ways can hold the value of either. */
const mergeVars = (one: Record<string, Shape>, other: Record<string, Shape>): Record<string, Shape> => ({
  ...one,
  ...Object.fromEntries(
    Object.entries(other).map(([name, shape]) => [name, name in one && one[name] !== shape ? ANY : shape]),
  ),
});

const afterStep = (known: Known, step: Step): Known => ({
  steps: { ...known.steps, [step.id]: object({ status: value('enum', STEP_STATUSES), output: outputShape(step) }) },
  vars: mergeVars(known.vars, variablesOf(step)),
});

const ADDRESS = /^[^\s@<>",;]+@[^\s@<>",;]+\.[^\s@<>",;]+$/;
/** Between two addresses; in the name before one they stand in quotes. */
const BETWEEN_ADDRESSES = /[,;]/;

/** True when the text is not one mail address, whatever the values of its placeholders. */
function isNoAddress(recipient: string): boolean {
  const { parts } = readTemplate(recipient);
  if (parts.every((part) => part.kind === 'text')) return !ADDRESS.test(recipient);
  const [first, ...others] = parts;
  if (first?.kind === 'value' && others.length === 0) return first.helper === 'join';
  const fixed = parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
  return !fixed.includes('"') && BETWEEN_ADDRESSES.test(fixed);
}

/** Scheme and host up to the path. A placeholder there could send what the step holds to any host. */
const ORIGIN = /^https?:\/\/[a-z0-9.-]+(:\d{1,5})?(?=[/?#]|$)|^https?:\/\/\[[0-9a-f:.]+\](:\d{1,5})?(?=[/?#]|$)/i;

/** What is wrong with an address whose host is to stand in the definition, in a sentence, or null. */
function originFlaw(url: string): string | null {
  const [origin] = ORIGIN.exec(url) ?? [];
  if (origin === undefined)
    return 'The URL must begin with http:// or https:// and a host without placeholders; the path may hold them.';
  // A port or an address can be well formed and still be none.
  return URL.canParse(origin) ? null : `"${origin}" is no address that can be reached; check its host and port.`;
}

function recipientFlaw({ channel }: StepOf<'notification'>, recipient: string): string | null {
  if (channel === 'webhook' && hasWrittenHost(recipient)) return originFlaw(recipient);
  if (channel !== 'email' || !isNoAddress(recipient)) return null;
  return `"${recipient}" is not an email address; write one, or a placeholder such as {{event_payload.email}}. A placeholder for a list stands alone and is everybody in it.`;
}

function checkRecipients(step: StepOf<'notification'>, pointer: string, { findings }: Walk): void {
  step.recipients.forEach((recipient, index) => {
    const message = recipientFlaw(step, recipient);
    if (message !== null)
      findings.add({ path: below(pointer, 'recipients', index), code: 'invalid_recipient', message });
  });
}

function checkUrl(step: StepOf<'http_request'>, pointer: string, { findings }: Walk): void {
  const message = originFlaw(step.url);
  if (message !== null) findings.add({ path: below(pointer, 'url'), code: 'invalid_url', message });
}

function checkHeaders({ headers = {} }: StepOf<'http_request'>, pointer: string, { findings }: Walk): void {
  for (const [name, text] of Object.entries(headers)) {
    const fixed = readTemplate(text).parts.filter((part) => part.kind === 'text');
    const flaw = isReservedHeader(name)
      ? 'cannot be set, because it belongs to the connection; leave it out'
      : 'must be one line of Latin characters; take out the others';
    if (!isReservedHeader(name) && fixed.every((part) => isHeaderText(part.text))) continue;
    findings.add({
      path: below(pointer, 'headers', name),
      code: 'invalid_header',
      message: `The header "${name}" ${flaw}.`,
    });
  }
}

const RECORD_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Silence is not consent: what comes behind a gate must not run because nobody decided. */
function checkGate({ on_error: onError }: StepOf<'approval_gate'>, pointer: string, { findings }: Walk): void {
  if (onError !== 'continue') return;
  findings.add({
    path: below(pointer, 'on_error'),
    code: 'unexpected_on_error',
    message: 'A gate that is not approved ends the execution whatever this says; leave on_error out.',
  });
}

function checkApprovers({ approvers }: StepOf<'approval_gate'>, pointer: string, { findings, textRoots }: Walk): void {
  if (approvers?.type !== 'portal_contact') return;
  const hasPlaceholder = readTemplate(approvers.contact).parts.some((part) => part.kind === 'value');
  if (hasPlaceholder || RECORD_ID.test(approvers.contact)) return;
  const payload = textRoots['event_payload'];
  const isNamed = payload !== undefined && payload.kind === 'object' && Object.hasOwn(payload.members, 'contact_id');
  findings.add({
    path: below(pointer, 'approvers', 'contact'),
    code: 'invalid_approver',
    message: `"${approvers.contact}" is not the id of a contact; write one, or a placeholder that holds one.`,
    ...(isNamed ? { suggestion: '{{event_payload.contact_id}}' } : {}),
  });
}

function checkSchema(step: StepOf<'ai_reason'>, pointer: string, { findings, compiles }: Walk): void {
  const { output_schema: schema } = step;
  if (!schema) return;
  const describesObject = schema['type'] === 'object';
  const problem = describesObject ? compiles(schema) : 'It must describe an object: add "type": "object".';
  if (problem === null) return;
  findings.add({
    path: below(pointer, 'output_schema'),
    code: 'invalid_schema',
    message: `The output schema cannot be used. ${problem}`,
  });
}

type TextsOf = { [Type in Step['type']]: (step: StepOf<Type>) => Record<string, unknown> };

/** The texts of a step, by the field that holds them. */
const TEXTS: TextsOf = {
  ai_reason: ({ prompt }) => ({ prompt }),
  notification: ({ recipients, subject, body }) => ({ recipients, subject, body }),
  approval_gate: ({ message, approvers }) => ({ message, approvers }),
  http_request: ({ url, headers, body }) => ({ url, headers, body }),
  set_variables: ({ values }) => ({ values }),
  delay: () => ({}),
  branch: () => ({}),
};
const textsOf = (step: Step): Record<string, unknown> =>
  (TEXTS[step.type] as (step: Step) => Record<string, unknown>)(step);

function checkOwnFields(step: Step, pointer: string, walk: Walk): void {
  checkDurations(step, pointer, walk.findings);
  if (step.type === 'notification') checkRecipients(step, pointer, walk);
  if (step.type === 'approval_gate') {
    checkGate(step, pointer, walk);
    checkApprovers(step, pointer, walk);
  }
  if (step.type === 'http_request') {
    checkUrl(step, pointer, walk);
    checkHeaders(step, pointer, walk);
  }
  if (step.type === 'ai_reason') checkSchema(step, pointer, walk);
}

interface Place {
  pointer: string;
  /** How many branches the step is inside of. */
  depth: number;
  known: Known;
}

function checkArmNames(step: BranchStep, pointer: string, { findings }: Walk): void {
  step.branches.forEach(({ name }, index) => {
    const isTaken = name === 'else' || step.branches.findIndex((arm) => arm.name === name) < index;
    if (!isTaken) return;
    findings.add({
      path: below(pointer, 'branches', index, 'name'),
      code: 'duplicate_branch_name',
      message: `The name "${name}" is ${name === 'else' ? 'reserved for the last way' : 'used twice in this branch'}; choose another.`,
    });
  });
}

/** Checks the arms of a branch, each as if it were taken; afterwards what any of them did may be known. */
function checkBranch(step: BranchStep, { pointer, depth, known }: Place, walk: Walk): Known {
  if (depth >= BRANCH_DEPTH_MAX) {
    walk.findings.add({
      path: pointer,
      code: 'too_deep',
      message: `Branches may be nested at most ${BRANCH_DEPTH_MAX} levels deep.`,
    });
    return known;
  }
  checkArmNames(step, pointer, walk);
  const arms = step.branches.map((arm, index) => {
    const at = below(pointer, 'branches', index);
    checkCondition(arm.when, below(at, 'when'), rulesSee(walk, known), walk.findings);
    return { steps: arm.steps, pointer: below(at, 'steps') };
  });
  if (step.else) arms.push({ steps: step.else, pointer: below(pointer, 'else') });
  const ends = arms.map((arm) => checkList(arm.steps, { pointer: arm.pointer, depth: depth + 1, known }, walk));
  return ends.reduce(
    (joined, end) => ({ steps: { ...joined.steps, ...end.steps }, vars: mergeVars(joined.vars, end.vars) }),
    known,
  );
}

function checkStep(step: Step, place: Place, walk: Walk): Known {
  const { pointer, known } = place;
  if (step.when) checkCondition(step.when, below(pointer, 'when'), rulesSee(walk, known), walk.findings);
  checkOwnFields(step, pointer, walk);
  const readable = textsSee(walk, known);
  for (const [field, text] of Object.entries(textsOf(step))) {
    checkTexts(text, below(pointer, field), readable, walk.findings);
  }
  const after = afterStep(known, step);
  return step.type === 'branch' ? checkBranch(step, { ...place, known: after }, walk) : after;
}

function checkList(steps: readonly Step[], place: Place, walk: Walk): Known {
  let { known } = place;
  for (const [index, step] of steps.entries()) {
    if (walk.findings.isFull) break;
    known = checkStep(step, { ...place, pointer: below(place.pointer, index), known }, walk);
  }
  return known;
}

/** Every step's id with the place of the step. */
function pointersOf(steps: readonly Step[], pointer: string): { id: string; pointer: string }[] {
  return steps.flatMap((step, index) => {
    const at = below(pointer, index);
    const own = { id: step.id, pointer: at };
    if (step.type !== 'branch') return [own];
    const inArms = step.branches.flatMap((arm, number) =>
      pointersOf(arm.steps, below(at, 'branches', number, 'steps')),
    );
    return [own, ...inArms, ...pointersOf(step.else ?? [], below(at, 'else'))];
  });
}

function checkIds(steps: readonly Step[], { findings }: Surroundings): void {
  const seen = new Map<string, string>();
  for (const { id, pointer } of pointersOf(steps, '/steps')) {
    const first = seen.get(id);
    if (first === undefined) {
      seen.set(id, pointer);
      continue;
    }
    findings.add({
      path: below(pointer, 'id'),
      code: 'duplicate_step_id',
      message: `The id "${id}" is already used at ${first}; every step needs its own.`,
    });
  }
}

/** Checks all steps of a definition. */
export function checkSteps(steps: readonly Step[], surroundings: Surroundings): void {
  const all = flattenSteps(steps);
  if (all.length > STEPS_MAX) {
    surroundings.findings.add({
      path: '/steps',
      code: 'too_many_steps',
      message: `An agent may have at most ${STEPS_MAX} steps, those inside branches included; this one has ${all.length}.`,
    });
    return;
  }
  checkIds(steps, surroundings);
  const walk: Walk = { ...surroundings, stepIds: new Set(all.map(({ step }) => step.id)) };
  checkList(steps, { pointer: '/steps', depth: 0, known: { steps: {}, vars: {} } }, walk);
}

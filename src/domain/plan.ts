/** Turns a definition into the plan a workflow walks and the order of the step records. Safe inside workflows. */
import type { AgentDefinition } from '../contracts/agent';
import type { Condition } from '../contracts/condition';
import type { PlanStep } from '../contracts/messages';
import type { BranchStep, Step } from '../contracts/step';
import { OFFSETS } from './clock-facts';
import { pathsAsked } from './conditions';
import { durationMs } from './durations';

/** How long a gate waits unless its step says otherwise. */
export const GATE_LIFETIME = '24h';

/** One step record of an execution: where its step stands in the definition. */
export interface Slot {
  path: string;
  step: Step;
}

/** A definition, flattened: `steps` is the tree to walk, `slots` the records in order, `asked` what conditions read. */
export interface Plan {
  steps: PlanStep[];
  slots: Slot[];
  asked: string[];
}

interface Drafting {
  slots: Slot[];
  asked: Set<string>;
  total: number;
}

/** All lists of steps inside a branch with the name of their part of the path; `else` comes last. */
const armsOf = (step: BranchStep): { name: string; steps: Step[] }[] => [
  ...step.branches.map(({ name, steps }) => ({ name, steps })),
  ...(step.else ? [{ name: 'else', steps: step.else }] : []),
];

/** Every step with its path, parents before the steps inside them. */
export const flattenSteps = (steps: readonly Step[], prefix = ''): Slot[] =>
  steps.flatMap((step, index) => {
    const path = `${prefix}${index}`;
    const inner = step.type === 'branch' ? armsOf(step) : [];
    return [{ path, step }, ...inner.flatMap((arm) => flattenSteps(arm.steps, `${path}/${arm.name}/`))];
  });

function ask(drafting: Drafting, condition: Condition): Condition {
  for (const path of pathsAsked(condition)) drafting.asked.add(path.startsWith('now.local_') ? OFFSETS : path);
  return condition;
}

const retryOf = ({ max_attempts, initial, max }: NonNullable<Step['retry']>): NonNullable<PlanStep['retry']> => ({
  max_attempts,
  ...(initial === undefined ? {} : { initial_ms: durationMs(initial) }),
  ...(max === undefined ? {} : { max_ms: durationMs(max) }),
});

function timingOf(step: Step): Pick<PlanStep, 'timeout_ms' | 'retry' | 'duration_ms'> {
  return {
    ...(step.timeout === undefined ? {} : { timeout_ms: durationMs(step.timeout) }),
    ...(step.retry === undefined ? {} : { retry: retryOf(step.retry) }),
    ...(step.type === 'approval_gate' ? { duration_ms: durationMs(step.expires_in ?? GATE_LIFETIME) } : {}),
    ...(step.type === 'delay' ? { duration_ms: durationMs(step.for) } : {}),
  };
}

function draftBranch(step: BranchStep, path: string, drafting: Drafting): Pick<PlanStep, 'branches' | 'else'> {
  const branches = step.branches.map((arm) => ({
    name: arm.name,
    when: ask(drafting, arm.when),
    steps: draftSteps(arm.steps, `${path}/${arm.name}/`, drafting),
  }));
  return step.else ? { branches, else: draftSteps(step.else, `${path}/else/`, drafting) } : { branches };
}

function draftStep(step: Step, path: string, drafting: Drafting): PlanStep {
  const slot = drafting.slots.push({ path, step }) - 1;
  return {
    slot,
    path,
    id: step.id,
    type: step.type,
    label: `${slot + 1}/${drafting.total} ${step.type} ${step.id}`,
    ...(step.when === undefined ? {} : { when: ask(drafting, step.when) }),
    on_error: step.on_error ?? 'fail',
    ...timingOf(step),
    ...(step.type === 'branch' ? draftBranch(step, path, drafting) : {}),
  };
}

const draftSteps = (steps: readonly Step[], prefix: string, drafting: Drafting): PlanStep[] =>
  steps.map((step, index) => draftStep(step, `${prefix}${index}`, drafting));

/** The plan of a definition: the same definition always yields the same slots in the same order. */
export function planOf(definition: Pick<AgentDefinition, 'steps'>): Plan {
  const drafting: Drafting = { slots: [], asked: new Set(), total: flattenSteps(definition.steps).length };
  const steps = draftSteps(definition.steps, '', drafting);
  return { steps, slots: drafting.slots, asked: [...drafting.asked] };
}

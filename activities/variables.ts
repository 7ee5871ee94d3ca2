/** `set_variables`: values with their placeholders filled in, kept as the step's output. */
import type { StepInput, StepResult } from '../src/contracts/messages';
import { renderValue } from '../src/domain/text';
import type { Deps } from './deps';
import { runStep } from './step';

/** Runs a variables step. It touches nothing outside, so it is a local activity. */
export const setVariables = (deps: Deps, input: StepInput): Promise<StepResult> =>
  runStep(deps, input, { type: 'set_variables', attemptsMax: 1 }, async (run) => ({
    output: renderValue(run.step.values, run.scope) as Record<string, unknown>,
  }));

/** Checks texts with placeholders: they can be read, and every path leads to something that will be there. */
import { pathsOf, readTemplate, type Placeholder } from '../placeholders';
import { below, type Findings } from './findings';
import { nearestPath } from './near-path';
import { shapeAt, type Shape } from './shapes';

const DEPTH_MAX = 32;

/** What a text may refer to; `stepIds` are all steps of the agent, also those that run later. */
export interface Readable {
  root: Shape;
  stepIds: ReadonlySet<string>;
}

function stepMessage(id: string, { root, stepIds }: Readable): string | undefined {
  if (shapeAt(root, ['steps', id])) return undefined;
  return stepIds.has(id)
    ? `The step "${id}" has not run by then; only earlier steps can be read.`
    : `steps.${id} is not a step.`;
}

function referenceFlaw(path: string, readable: Readable): { message: string; suggestion: string | undefined } {
  const [first, id = ''] = path.split('.');
  const message = first === 'steps' ? stepMessage(id, readable) : undefined;
  const runsLater = message !== undefined && readable.stepIds.has(id);
  return {
    message: message ?? `"${path}" does not exist here.`,
    suggestion: runsLater ? undefined : nearestPath(path, readable.root),
  };
}

function checkPlaceholder(
  { path, line, column }: Placeholder,
  pointer: string,
  readable: Readable,
  findings: Findings,
): void {
  const segments = path.split('.');
  // A root such as `steps` alone is a table of contents, not a value.
  const isKnown = shapeAt(readable.root, segments) && (segments.length > 1 || path === 'event_payload');
  if (isKnown) return;
  const { message, suggestion } = referenceFlaw(path, readable);
  findings.add({
    path: pointer,
    code: 'unknown_reference',
    message: `${message} (line ${line}, column ${column})`,
    suggestion,
  });
}

function checkText(text: string, pointer: string, readable: Readable, findings: Findings): void {
  const { parts, problems } = readTemplate(text);
  for (const { line, column, message, ...problem } of problems) {
    findings.add({ path: pointer, ...problem, message: `${message} (line ${line}, column ${column})` });
  }
  for (const part of parts) {
    if (findings.isFull) return;
    if (part.kind === 'text') continue;
    for (const placeholder of pathsOf(part)) checkPlaceholder(placeholder, pointer, readable, findings);
  }
}

/** Checks every text inside a JSON value. */
export function checkTexts(value: unknown, pointer: string, readable: Readable, findings: Findings): void {
  if (pointer.split('/').length > DEPTH_MAX) {
    findings.add({ path: pointer, code: 'too_deep', message: 'The value is nested too deeply.' });
  } else if (typeof value === 'string') {
    checkText(value, pointer, readable, findings);
  } else if (typeof value === 'object' && value !== null && !findings.isFull) {
    for (const [key, inner] of Object.entries(value)) checkTexts(inner, below(pointer, key), readable, findings);
  }
}

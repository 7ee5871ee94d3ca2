/** Finds the path an author most likely meant. */
import { nearest } from '../suggest';
import { pathsIn, type Shape } from './shapes';

/** The member an author meant: itself, or the nearest name. */
function stepInto(shape: Shape, segment: string): { name: string; inner: Shape } | undefined {
  if (shape.kind === 'list') return /^\d+$/.test(segment) ? { name: segment, inner: shape.element } : undefined;
  if (shape.kind !== 'object') return undefined;
  const name = Object.hasOwn(shape.members, segment) ? segment : nearest(segment, Object.keys(shape.members));
  const inner = name === undefined ? undefined : shape.members[name];
  return name !== undefined && inner ? { name, inner } : undefined;
}

/** Follows a path and corrects it name by name; where nothing is near, what was right so far, if anything was changed. */
function correct(path: string, root: Shape): string | undefined {
  const segments = path.split('.');
  const corrected: string[] = [];
  let shape = root;
  for (const segment of segments) {
    if (shape.kind === 'any') return [...corrected, ...segments.slice(corrected.length)].join('.');
    const next = stepInto(shape, segment);
    if (!next) break;
    corrected.push(next.name);
    shape = next.inner;
  }
  const answer = corrected.join('.');
  const isWhole = corrected.length === segments.length;
  const wasCorrected = corrected.some((name, index) => name !== segments[index]);
  // A value has nothing inside, so the value itself was meant. Any other right beginning alone is no answer.
  const isUseful = isWhole || shape.kind === 'value' || (wasCorrected && corrected.length > 1);
  return isUseful && answer !== path ? answer : undefined;
}

/** The path nearest to one that leads nowhere, or `undefined` when none is near. */
export const nearestPath = (path: string, root: Shape): string | undefined => {
  const corrected = correct(path, root);
  const [first = ''] = path.split('.');
  const hasRoot = root.kind === 'object' && Object.hasOwn(root.members, first);
  return corrected ?? (hasRoot ? undefined : nearest(path, pathsIn(root)));
};

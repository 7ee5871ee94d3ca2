/** What is wrong with a value that fails every member of a union: what it was meant to be, not what it might have been. */
import type { ErrorObject } from 'ajv';
import type { Finding } from '../contracts/problem';

/** An error of the validator in our words. */
export interface Worded {
  error: ErrorObject;
  finding: Finding;
}

const REQUIREMENT = 'must be ';

const isRequirement = ({ finding }: Worded): boolean => finding.message.startsWith(REQUIREMENT);
const asksForNull = ({ error }: Worded): boolean =>
  error.keyword === 'type' && (error.params as { type?: unknown }).type === 'null';

/** `a date-time, a date or null` */
const oneOf = (items: string[]): string => [items.slice(0, -1).join(', '), ...items.slice(-1)].join(' or ');

function joined(members: Worded[]): Finding[] {
  const [first] = members;
  if (!first) return [];
  const asked = [...new Set(members.map(({ finding }) => finding.message.slice(REQUIREMENT.length)))];
  const suggestion = members.find(({ finding }) => finding.suggestion)?.finding.suggestion;
  const message = asked.length > 1 ? REQUIREMENT + oneOf(asked) : first.finding.message;
  return [{ ...first.finding, message, ...(suggestion ? { suggestion } : {}) }];
}

/** `failed` are the errors of the `anyOf`s themselves; of nested ones only the outermost counts. */
export function joinAlternatives(worded: Worded[], failed: ErrorObject[]): Finding[] {
  let rest = worded;
  const findings: Finding[] = [];
  for (const { instancePath, schemaPath } of failed.toSorted((a, b) => a.schemaPath.length - b.schemaPath.length)) {
    const isMember = ({ error }: Worded): boolean =>
      error.instancePath === instancePath && error.schemaPath.startsWith(`${schemaPath}/`);
    const members = rest.filter((one) => isMember(one) && isRequirement(one));
    const isInside = ({ error }: Worded): boolean =>
      error.instancePath === instancePath || error.instancePath.startsWith(`${instancePath}/`);
    // Another fault says that the value is of the right kind: to send null in its place is nobody's intention.
    const hasOther = rest.some((one) => isInside(one) && !members.includes(one));
    rest = rest.filter((one) => !(members.includes(one) && (!hasOther || asksForNull(one))));
    if (!hasOther) findings.push(...joined(members));
  }
  return [...findings, ...rest.map(({ finding }) => finding)];
}

/** The member of a union that an error at the union's own place comes from: a schema by name, or a branch of it. */
const ownerOf = ({ schemaPath }: ErrorObject): string => schemaPath.slice(0, schemaPath.lastIndexOf('/'));

/** The members a value is least like, by what each finds at the place of the union itself. */
function unlikeMembers(union: ErrorObject, errors: readonly ErrorObject[]): Set<string> {
  const faults = new Map<string, number>();
  for (const error of errors) {
    if (error.instancePath !== union.instancePath || error === union) continue;
    faults.set(ownerOf(error), (faults.get(ownerOf(error)) ?? 0) + 1);
  }
  const members = (union.schema as unknown[]).length;
  // A member that finds nothing here finds fault deeper inside: the value is of its kind.
  const [likest] = faults.size < members ? [] : [...faults].toSorted(([, one], [, other]) => one - other);
  return new Set([...faults.keys()].filter((owner) => owner !== likest?.[0]));
}

/** More than are told of; a body of nothing but faults must not cost their square. */
const UNIONS_JUDGED_MAX = 50;

/** The errors without those of members of a `oneOf` that the value was hardly meant to be; the outermost union first. */
export function likeliest(errors: readonly ErrorObject[]): ErrorObject[] {
  const unions = errors.filter(({ keyword, params }) => keyword === 'oneOf' && params['passingSchemas'] === null);
  let rest = [...errors];
  const outermostFirst = unions.toSorted((one, other) => one.instancePath.length - other.instancePath.length);
  for (const union of outermostFirst.slice(0, UNIONS_JUDGED_MAX)) {
    const unlike = unlikeMembers(union, rest);
    // Where the union is met again deeper inside, its members' errors there are judged by what stands there.
    const isRecursive = unions.some((other) => other.instancePath.startsWith(`${union.instancePath}/`));
    rest = rest.filter((error) => {
      if (error === union) return true;
      if (error.instancePath === union.instancePath) return !unlike.has(ownerOf(error));
      const isInside = error.instancePath.startsWith(`${union.instancePath}/`);
      return isRecursive || !isInside || ![...unlike].some((owner) => error.schemaPath.startsWith(`${owner}/`));
    });
  }
  return rest;
}

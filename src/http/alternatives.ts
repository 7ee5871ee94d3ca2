/** What a value must be that fails every member of an `anyOf`: one finding, not one for each member. */
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

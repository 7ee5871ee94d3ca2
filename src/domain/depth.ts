/** How deep JSON is nested, found level by level: following each value down would end where the stack does. */

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** True when lists and objects stand in each other more than `levels` deep. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  let containers = [value].filter(isContainer);
  for (let depth = 0; containers.length > 0; depth += 1) {
    if (depth === levels) return true;
    containers = containers.flatMap((container) => (Object.values(container) as unknown[]).filter(isContainer));
  }
  return false;
}

/** What a planted bug is. */

export interface Mutation {
  /** What it breaks, in words. */
  bug: string;
  file: string;
  /** Stands exactly once in the file. */
  before: string;
  after: string;
  /** Must fail with the bug. */
  test: string;
  /** Part of the test's name, where the file has more than is needed. */
  name?: string;
  /** The test asks an API process, which must have the bug too; it is started for it. */
  needsApi?: true;
}

/** A bug that takes away what stands against a threat. */
export interface Control extends Mutation {
  /** Its number in `docs/reference/threats.md`. */
  threat: number;
}

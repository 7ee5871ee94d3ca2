/** What is wrong with a definition: collected, bounded, each with a place, a reason and, where near, what was meant. */
import type { Finding } from '../../contracts/problem';

/** More findings than this help nobody, and looking for near names costs time. */
const FINDINGS_MAX = 50;

/** One part of a JSON pointer below another. */
export const below = (pointer: string, ...parts: (string | number)[]): string =>
  [pointer, ...parts.map((part) => String(part).replaceAll('~', '~0').replaceAll('/', '~1'))].join('/');

type Report = Omit<Finding, 'suggestion'> & { suggestion?: string | undefined };

/** The findings so far. Checks may stop once it is full. */
export class Findings {
  readonly all: Finding[] = [];
  /** The size of all patterns so far. */
  patternSize = 0;

  get isFull(): boolean {
    return this.all.length >= FINDINGS_MAX;
  }

  add({ suggestion, ...finding }: Report): void {
    if (this.isFull) return;
    const hint = suggestion === undefined ? '' : ` Did you mean "${suggestion}"?`;
    const message = `${finding.message}${hint}`;
    this.all.push(suggestion === undefined ? finding : { ...finding, message, suggestion });
  }
}

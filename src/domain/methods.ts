/** What a method may do to a record. */

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** Asks for a record, or for the head of the answer alone. */
export const isRead = (method = 'GET'): boolean => READS.has(method);

/** Changes nothing, whoever made the browser send it (RFC 9110 §9.2.1). */
export const isSafe = (method = 'GET'): boolean => isRead(method) || method === 'OPTIONS';

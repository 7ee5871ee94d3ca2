/** What the headers of an outgoing request may be, whoever names them. */

// They describe the connection or the target, which are ours to decide: with them a caller could smuggle a second
// request or name another host than the one that was checked.
const RESERVED: ReadonlySet<string> = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'expect',
  'te',
  'trailer',
  'proxy-authorization',
  'proxy-connection',
]);
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** True for a header that nobody but the client may set. */
export const isReservedHeader = (name: string): boolean => RESERVED.has(name.toLowerCase());

/** True for a text that can stand in a header: one line of Latin characters. */
export const isHeaderText = (text: string): boolean => VALUE.test(text);

/** Reads a reply up to a limit. */
import type { Dispatcher } from 'undici';
import { isDeeperThan } from '../domain/depth';
import { mayBeInexact, withTexts } from '../domain/exact-numbers';

/** Deeper than anybody means, and than an execution's record takes. */
const DEPTH_MAX = 64;

/** Status, headers and body; the body is parsed when it is whole and says that it is JSON. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: unknown;
  /** The far side had more to say than the limit. */
  truncated: boolean;
}

/** The body up to a limit; what comes behind it is never read. */
export async function readUpTo(stream: Dispatcher.ResponseData['body'], maxBytes: number) {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    // Leaving the loop destroys the stream and with it the connection: the rest is never read.
    if (bytes > maxBytes) break;
  }
  return { content: Buffer.concat(chunks).subarray(0, maxBytes), truncated: bytes > maxBytes };
}

/** Numbers that would be kept as others are kept as texts, with all that was written of them. */
function parse(text: string, contentType: string): unknown {
  if (!/^application\/(?:[\w.+-]+\+)?json\b/i.test(contentType)) return text;
  try {
    const value: unknown = JSON.parse(text);
    if (isDeeperThan(value, DEPTH_MAX)) return text;
    return mayBeInexact(text) ? JSON.parse(withTexts(text, (number) => number)) : value;
  } catch {
    // A reply that lies about its type is still worth showing.
    return text;
  }
}

/** The headers by name; one that came more than once as the list it stands for. */
export function headersOf(reply: Dispatcher.ResponseData): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(reply.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return headers;
}

/** Reads the reply; never more than `maxBytes` of it. */
export async function readReply(reply: Dispatcher.ResponseData, maxBytes: number): Promise<Reply> {
  const headers = headersOf(reply);
  const { content, truncated } = await readUpTo(reply.body, maxBytes);
  // A cut in the middle of a character ends the text in a replacement sign, which is harmless in what is only shown.
  const text = content.toString('utf8');
  return {
    status: reply.statusCode,
    headers,
    body: truncated ? text : parse(text, headers['content-type'] ?? ''),
    truncated,
  };
}

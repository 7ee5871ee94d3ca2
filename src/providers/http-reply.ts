/** Reads a reply up to a limit. */
import { promisify } from 'node:util';
import { brotliDecompress, unzip } from 'node:zlib';
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

const UNPACK = { gzip: promisify(unzip), deflate: promisify(unzip), br: promisify(brotliDecompress) };

type Content = Awaited<ReturnType<typeof readUpTo>>;

/** We ask for replies as they are; some servers send what they have stored, packed, all the same. */
async function unpacked(read: Content, encoding: string, maxBytes: number): Promise<Content> {
  const name = encoding.trim().toLowerCase().replace(/^x-/, '');
  if (read.truncated || read.content.length === 0 || !Object.hasOwn(UNPACK, name)) return read;
  try {
    const content = await UNPACK[name as keyof typeof UNPACK](read.content, { maxOutputLength: maxBytes });
    return { content, truncated: false };
  } catch {
    // Damaged, or more than the limit once it is unpacked: what was read is not the reply.
    return { ...read, truncated: true };
  }
}

/** The character set the bytes begin with, as files from Windows do; it is right where the header says another. */
function markedCharset(content: Buffer): string | null {
  if (content[0] === 0xff && content[1] === 0xfe) return 'utf-16le';
  if (content[0] === 0xfe && content[1] === 0xff) return 'utf-16be';
  return content.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf])) ? 'utf-8' : null;
}

/**
 * The text of the bytes, without the mark in front of it, with which no JSON could be read. A cut in the middle of a
 * character ends the text in a replacement sign, which is harmless in what is only shown.
 */
function textOf(content: Buffer, contentType: string): string {
  const charset = markedCharset(content) ?? /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType)?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(charset).decode(content);
  } catch {
    // A character set that nobody knows; nearly everybody means this one.
    return new TextDecoder().decode(content);
  }
}

/** Numbers that would be kept as others are kept as texts, with all that was written of them. */
function parse(text: string, contentType: string): unknown {
  if (!/^(?:text|application)\/(?:[\w.+-]+\+)?json\b/i.test(contentType)) return text;
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
  const read = await readUpTo(reply.body, maxBytes);
  const { content, truncated } = await unpacked(read, headers['content-encoding'] ?? '', maxBytes);
  const type = headers['content-type'] ?? '';
  const text = textOf(content, type);
  return { status: reply.statusCode, headers, body: truncated ? text : parse(text, type), truncated };
}

/** Finds typed values in plain text by their form alone; the same text always gives the same values. */
import ipaddr from 'ipaddr.js';

/** The kinds of value that have a form of their own. */
export type ValueKind =
  | 'email'
  | 'phone'
  | 'ip'
  | 'hostname'
  | 'url'
  | 'cve'
  | 'ticket'
  | 'amount'
  | 'date'
  | 'hash'
  | 'priority';

// Text from outside has no bound of its own; the recognisers look at this much of it.
const TEXT_LENGTH_MAX = 100_000;

const TICKET_PREFIX = 'TCK|TKT|INC|REQ|CHG|PRB|SR|CASE|TICKET';
const PATTERNS = {
  email: /\b[\w.%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})+\b/g,
  url: /\bhttps?:\/\/[^\s<>"')\]]+[^\s<>"')\].,;:!?]/gi,
  ip: /(?<![\w.:])(?:(?:\d{1,3}\.){3}\d{1,3}|(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4})(?![\w:])/gi,
  cve: /\bCVE-\d{4}-\d{4,7}\b/gi,
  ticket: new RegExp(
    `\\b(?:${TICKET_PREFIX})[-_ ]?#?\\d{2,12}\\b|(?<![\\w&])#\\d{2,12}\\b|\\btkt_[0-9A-Za-z]{6,40}\\b`,
    'gi',
  ),
  amount:
    /(?:[$€£]|\b(?:USD|EUR|GBP)\s?)\s?\d[\d,]{0,14}(?:\.\d{1,2})?|\b\d[\d,]{0,14}(?:\.\d{1,2})?\s?(?:USD|EUR|GBP|dollars|euros)\b/gi,
  isoDate: /\b\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})?)?\b/g,
  dayMonth: /\b(\d{1,2})(?:st|nd|rd|th)? (jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?,? (\d{4})\b/gi,
  monthDay: /\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})\b/gi,
  hash: /\b(?:[a-f0-9]{64}|[a-f0-9]{40}|[a-f0-9]{32})\b/gi,
  phone: /(?<![\w.])\+?\(?\d[\d ().-]{5,18}\d(?![\w])/g,
  qualifiedName: /(?<![@\w.-])[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}\.){1,8}[A-Za-z]{2,24}(?![\w@-])/g,
  // How MSPs name machines: capitals with a dash and a digit, such as ACME-LT-042 or SRV-DC01.
  machineName: new RegExp(`\\b(?!(?:CVE|${TICKET_PREFIX})[-_])[A-Z][A-Z0-9]{0,14}(?:-[A-Z0-9]{1,15}){1,5}\\b`, 'g'),
} as const;

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

const PRIORITY_WORDS: readonly (readonly [string, RegExp])[] = [
  ['critical', /\b(?:critical|emergency|sev(?:erity)?[ -]?1|p1)\b/i],
  ['urgent', /\b(?:urgent(?:ly)?|asap|immediately)\b/i],
  ['high', /\b(?:high(?: priority)?|important|sev(?:erity)?[ -]?2|p2)\b/i],
  ['medium', /\b(?:medium|normal|moderate|p3)\b/i],
  ['low', /\b(?:low(?: priority)?|minor|cosmetic|no rush|whenever|p4)\b/i],
];

const unique = (values: string[]): string[] => [...new Set(values)];
const all = (text: string, pattern: RegExp): string[] => unique([...text.matchAll(pattern)].map(([found]) => found));

function without(text: string, patterns: readonly RegExp[]): string {
  return patterns.reduce((rest, pattern) => rest.replace(pattern, ' | '), text);
}

function dates(text: string): string[] {
  const iso = all(text, PATTERNS.isoDate).filter((date) => !Number.isNaN(Date.parse(date)));
  const written = [
    ...[...text.matchAll(PATTERNS.dayMonth)].map(([, day, month, year]) => [year, month, day]),
    ...[...text.matchAll(PATTERNS.monthDay)].map(([, month, day, year]) => [year, month, day]),
  ].map(([year, month, day]) => {
    const number = MONTHS.indexOf(String(month).toLowerCase()) + 1;
    return `${year}-${String(number).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
  });
  return unique([...iso, ...written]);
}

function phones(text: string): string[] {
  const { isoDate, ip, cve, ticket, amount, hash, dayMonth, url } = PATTERNS;
  const rest = without(text, [url, isoDate, dayMonth, ip, cve, ticket, amount, hash]);
  return all(rest, PATTERNS.phone).filter((found) => {
    const digits = found.replace(/\D/g, '').length;
    return digits >= 7 && digits <= 15;
  });
}

function hostnames(text: string): string[] {
  const rest = without(text, [PATTERNS.url, PATTERNS.email]);
  return unique([
    ...all(rest, PATTERNS.machineName).filter((name) => /\d/.test(name)),
    ...all(rest, PATTERNS.qualifiedName),
  ]);
}

const FINDERS: Record<ValueKind, (text: string) => string[]> = {
  email: (text) => all(text, PATTERNS.email),
  phone: phones,
  ip: (text) => all(text, PATTERNS.ip).filter((found) => ipaddr.isValid(found) && found.length > 2),
  hostname: hostnames,
  url: (text) => all(text, PATTERNS.url),
  cve: (text) => unique(all(text, PATTERNS.cve).map((found) => found.toUpperCase())),
  ticket: (text) => all(text, PATTERNS.ticket),
  amount: (text) => all(text, PATTERNS.amount),
  date: dates,
  hash: (text) => all(text, PATTERNS.hash),
  priority: (text) => PRIORITY_WORDS.filter(([, pattern]) => pattern.test(text)).map(([word]) => word),
};

/** All values of a kind, in the order of the text, each once; priorities come with the gravest first. */
export const findValues = (kind: ValueKind, text: string): string[] => FINDERS[kind](text.slice(0, TEXT_LENGTH_MAX));

/** The number inside a recognised amount. */
export const amountOf = (text: string): number => Number(text.replace(/[^\d.]/g, ''));

// Matched against the words of a field's name. The first row that fits decides.
const KIND_BY_WORD: readonly (readonly [RegExp, ValueKind])[] = [
  [/^(?:e?mails?|recipient|sender|requester)$/, 'email'],
  [/^(?:phones?|telephone|mobile|tel)$/, 'phone'],
  [/^(?:ip|ips|ipv4|ipv6)$/, 'ip'],
  [/^(?:cves?|vulnerability|vulnerabilities)$/, 'cve'],
  [/^(?:urls?|links?|website)$/, 'url'],
  [/^(?:hashe?s?|sha256|sha1|md5|checksum)$/, 'hash'],
  [/^(?:hosts?|hostnames?|devices?|machines?|computers?|servers?|endpoints?|domains?|fqdn)$/, 'hostname'],
  [/^(?:tickets?|incidents?|case)$/, 'ticket'],
  [/^(?:amounts?|price|cost|total|sum|value|budget)$/, 'amount'],
  [/^(?:dates?|day|deadline|due|expires|expiry|when)$/, 'date'],
  [/^(?:priority|urgency|severity)$/, 'priority'],
];

const KIND_BY_FORMAT: Readonly<Record<string, ValueKind>> = {
  email: 'email',
  'idn-email': 'email',
  ipv4: 'ip',
  ipv6: 'ip',
  hostname: 'hostname',
  uri: 'url',
  url: 'url',
  date: 'date',
  'date-time': 'date',
};

/** Which kind of value a field wants, by its format or by a word of its name. */
export function kindOfField(words: readonly string[], format: unknown): ValueKind | undefined {
  const byFormat = typeof format === 'string' ? KIND_BY_FORMAT[format] : undefined;
  return byFormat ?? KIND_BY_WORD.find(([pattern]) => words.some((word) => pattern.test(word)))?.[1];
}

/** Patterns that people cannot be expected to read, and what a refusal says in their place. */
import { DURATION_PATTERN, ID_PATTERN } from './schema';

/** White space by name: what `\s` stands for differs between the languages that clients are written in. */
const SPACES = ' \\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000\\ufeff';
const BREAKS = '\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029';

/**
 * One line: something to see, and no line break or other control character. Nothing at all is one, too. Split in one way
 * only, so that it is judged in linear time.
 */
export const LINE_PATTERN = `^([${SPACES}]*[^${SPACES}${BREAKS}][^${BREAKS}]*)?$`;

/** The same for what heads mails and lists and cannot be left out; other control characters are cut when it is shown. */
export const HEADING_PATTERN =
  '^[^\\S\\r\\n\\v\\f\\u0085\\u2028\\u2029]*[^\\s\\u0085][^\\r\\n\\v\\f\\u0085\\u2028\\u2029]*$';

export const NOT_BLANK_PATTERN = '\\S';

export const STEP_ID_PATTERN = '^[a-z][a-z0-9_-]{0,63}$';
export const VARIABLE_PATTERN = '^[a-z][a-z0-9_]{0,63}$';
/** A place in an event or an execution, for rules. */
export const PLACE_PATTERN = '^[A-Za-z_][A-Za-z0-9_-]*(\\.[A-Za-z0-9_-]+){0,11}$';

/** A telephone number as people write it; how long it may be is said beside. */
export const PHONE_PATTERN = '^\\+?[ ().x/-]{0,39}[0-9][0-9 ().x/-]{0,39}$';

/** A name in an object that is kept as it is sent. */
export const KEY_PATTERN = '^[A-Za-z_][A-Za-z0-9_.-]{0,63}$';

/** Begins with a letter and has no dot: no key is an operator, a path, or a name that objects bring along. */
export const CUSTOM_KEY = '(?!(?:constructor|prototype)(?:\\.|$))[A-Za-z][A-Za-z0-9_]{0,39}';

const SYSTEM = '[a-z0-9][a-z0-9_.-]{0,39}';
export const SYSTEM_PATTERN = `^${SYSTEM}$`;
export const EXTERNAL_REF_PATTERN = `^${SYSTEM}:[\\s\\S]+$`;

/** What an event is called, what emits it, and what tells it from others. Two dots alone lead up in an address. */
export const EVENT_TYPE_PATTERN = '^[a-z][a-z0-9_]*(\\.[a-z][a-z0-9_]*){1,4}$';
export const EVENT_TYPE_LENGTH_MAX = 120;
export const PRODUCT_PATTERN = '^[a-z][a-z0-9_-]{1,40}$';
export const EVENT_ADDRESS_PATTERN = '^[A-Za-z0-9._:~-]{1,128}$';
export const EVENT_ID_PATTERN = '^(?!\\.{1,2}$)[A-Za-z0-9._:~-]{1,128}$';

/** Of the web only: pages show it as a link or a picture, and `javascript:` is an address, too. */
export const WEB_ADDRESS_PATTERN =
  '^https?://[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(:[0-9]{1,5})?([/?#][!-~]*)?$';
const OCTET = '(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])';
const IPV4 = `${OCTET}(\\.${OCTET}){3}`;
const GROUP = '[0-9A-Fa-f]{1,4}';
/** Eight groups, or fewer with one gap, whose place says how many may follow. */
const IPV6 = [
  `(${GROUP}:){7}${GROUP}`,
  `(${GROUP}:){1,7}:`,
  ...[6, 5, 4, 3, 2, 1].map((before) => `(${GROUP}:){1,${before}}(:${GROUP}){1,${7 - before}}`),
  `:((:${GROUP}){1,7}|:)`,
].join('|');
export const IP_PATTERN = `^(${IPV4}|${IPV6})$`;

const WORDS: Readonly<Record<string, string>> = {
  [LINE_PATTERN]: 'must be one line that is not blank, without control characters',
  [HEADING_PATTERN]: 'must be one line that is not blank',
  [NOT_BLANK_PATTERN]: 'must not be blank',
  [ID_PATTERN]: 'must be an id: 1 to 64 letters, digits or any of _ -',
  [DURATION_PATTERN]: 'must be a length of time: a whole number with s, m, h or d, such as 30s, 5m, 24h or 7d',
  [STEP_ID_PATTERN]: 'must be a lower-case letter, followed by up to 63 lower-case letters, digits or any of _ -',
  [VARIABLE_PATTERN]: 'must be a lower-case letter, followed by up to 63 lower-case letters, digits or underscores',
  [PLACE_PATTERN]: 'must be names joined by dots, twelve at most, such as event_payload.ticket.priority',
  [PHONE_PATTERN]: 'must be a telephone number: digits, blanks and any of + ( ) . x / -, with at least one digit',
  [KEY_PATTERN]: 'must begin with a letter or _, followed by up to 63 letters, digits or any of _ . -',
  [`^${CUSTOM_KEY}$`]:
    'must be a letter, followed by up to 39 letters, digits or underscores; constructor and prototype are taken',
  [SYSTEM_PATTERN]: 'must be the name of a system: up to 40 lower-case letters, digits or any of _ . -, such as halo',
  [EXTERNAL_REF_PATTERN]: 'must be <system>:<id>, such as halo:4711, with the system in lower case',
  [EVENT_TYPE_PATTERN]:
    'must be two to five names joined by dots, each of lower-case letters, digits and _, such as custom.door_opened',
  [PRODUCT_PATTERN]: 'must be a name of 2 to 41 lower-case letters, digits or any of _ -, such as psa',
  [WEB_ADDRESS_PATTERN]: 'must be an http or https address, such as https://www.example.com/logo.png',
  [IP_PATTERN]: 'must be an IPv4 or IPv6 address',
  [EVENT_ADDRESS_PATTERN]: 'must be 1 to 128 letters, digits or any of . _ : ~ -',
  [EVENT_ID_PATTERN]: 'must be 1 to 128 letters, digits or any of . _ : ~ -, and more than one or two dots',
};

/** What a value must be to match; null for patterns that are said as they are. */
export const wordsOf = (pattern: string): string | null => WORDS[pattern] ?? null;

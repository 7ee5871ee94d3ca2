/** Plain word statistics: enough to pick the telling sentences of a text and the label that fits it best. */

const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a an and are as at be been but by can could did do does for from had has have he her his how i if in into is it its ' +
    'just me my no not of on or our out please she should so some than that the their them then there they this to up ' +
    'us was we were what when which who will with would you your'
  ).split(' '),
);

// What MSP tickets are about, for labels that are only named and not described.
const LEXICON: Readonly<Record<string, string>> = {
  hardware:
    'printer laptop monitor keyboard mouse dock disk drive screen battery fan scanner toner workstation desktop',
  network: 'vpn wifi wireless dns dhcp router switch firewall internet latency ping offline connectivity bandwidth',
  software: 'application app install crash license update excel word outlook teams browser version bug',
  access: 'password login locked mfa account permission signin reset authenticator',
  account: 'password login locked mfa permission onboarding offboarding user',
  security: 'phishing malware ransomware breach virus suspicious attack cve vulnerability exploit compromised',
  billing: 'invoice payment charge refund quote subscription billed overdue',
  email: 'outlook mailbox inbox spam delivery bounce exchange',
  backup: 'restore snapshot recovery backup retention',
  server: 'server reboot cpu memory disk service cluster',
  critical: 'outage down breach ransomware emergency everyone production',
  urgent: 'asap immediately urgently',
  high: 'important blocked deadline',
  medium: 'normal moderate',
  normal: 'medium moderate',
  low: 'minor cosmetic whenever rush',
};

function stem(word: string): string {
  return word.length > 4 ? word.replace(/(?:ing|ed|es|s)$/, '') : word.replace(/(?<=..)s$/, '');
}

/** The words of a text or of a name in any spelling (`camelCase`, `snake_case`), lower case and without the fillers. */
export function wordsOf(text: string): string[] {
  const spaced = text.replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase();
  return (spaced.match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => !STOP_WORDS.has(word));
}

/** How often each word occurs, by its stem. */
export function countWords(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of wordsOf(text).map(stem)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/** Answers whether a text holds one of the words. */
export const mentions = (counts: ReadonlyMap<string, number>, words: readonly string[]): boolean =>
  words.some((word) => counts.has(stem(word)));

const OWN_WEIGHT = 3;
const DESCRIBED_WEIGHT = 2;
const LEXICON_WEIGHT = 1;
const OCCURRENCES_MAX = 3;

/** What a description says about one label: `hardware: printers and laptops; network: …`. */
function describedWords(label: string, labels: readonly string[], description: string): string[] {
  const escaped = labels.map((other) => other.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
  const parts = description.split(
    new RegExp(`(?:^|[\\s;,.(])["'\`]?(${escaped})["'\`]?\\s*(?::|=|-|–|means|when)\\s`, 'i'),
  );
  const position = parts.findIndex((part, index) => index % 2 === 1 && part.toLowerCase() === label.toLowerCase());
  return position < 0 ? [] : wordsOf(parts[position + 1] ?? '');
}

/** The label whose own, described or usual words occur most; nothing when none occurs. The first of equals wins. */
export function bestLabel(
  labels: readonly string[],
  description: string,
  counts: ReadonlyMap<string, number>,
): string | undefined {
  let best: { label: string; score: number } | undefined;
  for (const label of labels) {
    const weights = new Map<string, number>();
    const own = wordsOf(label);
    const usual = own.flatMap((word) => (LEXICON[word] ?? '').split(' ').filter(Boolean));
    for (const word of usual) weights.set(stem(word), LEXICON_WEIGHT);
    for (const word of describedWords(label, labels, description)) weights.set(stem(word), DESCRIBED_WEIGHT);
    for (const word of own) weights.set(stem(word), OWN_WEIGHT);
    let score = 0;
    for (const [word, weight] of weights) score += weight * Math.min(counts.get(word) ?? 0, OCCURRENCES_MAX);
    if (score > (best?.score ?? 0)) best = { label, score };
  }
  return best?.label;
}

const SENTENCES_MAX = 400;
// Text from outside has no bound of its own.
const TEXT_LENGTH_MAX = 100_000;

/** Values often come as JSON; its names and punctuation are not part of what they say. */
function spokenPart(line: string): string {
  const value = /^\s*"[^"]{1,80}":(.*)$/.exec(line)?.[1]?.trim();
  if (value === undefined) return line;
  const bare = value.endsWith(',') ? value.slice(0, -1) : value;
  return bare.replaceAll('\\n', '\n').replaceAll('\\"', "'").replaceAll('"', '');
}

function sentencesOf(text: string): string[] {
  return text
    .split(/\r?\n/)
    .map(spokenPart)
    .flatMap((line) => line.split(/\n|(?<=[.!?])\s+/))
    .map((sentence) => sentence.trim())
    .filter((sentence) => wordsOf(sentence).length >= 2)
    .slice(0, SENTENCES_MAX);
}

/** The most telling sentences of a text in their own order, within a length. */
export function summarise(whole: string, limits: { sentences: number; length: number }): string {
  const text = whole.slice(0, TEXT_LENGTH_MAX);
  const sentences = [...new Set(sentencesOf(text))];
  const counts = countWords(text);
  const ranked = sentences
    .map((sentence, position) => {
      const words = [...countWords(sentence).keys()];
      const weight = words.reduce((sum, word) => sum + (counts.get(word) ?? 0), 0);
      // Tickets say first what they are about.
      return { sentence, position, score: weight / Math.sqrt(words.length + 1) + (position === 0 ? 2 : 0) };
    })
    .sort((one, other) => other.score - one.score || one.position - other.position)
    .slice(0, limits.sentences)
    .sort((one, other) => one.position - other.position);
  const summary = ranked.map(({ sentence }) => sentence).join(' ') || text.trim();
  return summary.length > limits.length ? `${summary.slice(0, limits.length - 1).trimEnd()}…` : summary;
}

/** Markdown → HTML, as far as our own reference pages need it: headings, paragraphs, lists, code, bold and links. */

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text that means itself wherever HTML puts it. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '');

const LINK = /\[([^\]]+)\]\(((?:https?:\/\/|\/|#)[^)\s]*)\)/g;

/** What stands between two backquotes is code and nothing else. */
function inline(text: string): string {
  return escapeHtml(text)
    .split('`')
    .map((part, index) =>
      index % 2 === 1
        ? `<code>${part}</code>`
        : part.replace(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>').replace(LINK, '<a href="$2">$1</a>'),
    )
    .join('');
}

const withoutMarks = (lines: string[]): string =>
  lines.map((line) => `<li>${inline(line.replace(/^(?:[-*]|\d+\.) +/, ''))}</li>`).join('');

function block(text: string): string {
  const lines = text.split('\n');
  const [first = ''] = lines;
  const heading = /^(#{1,4}) +(.*)$/.exec(first);
  if (heading) {
    const level = heading[1]?.length ?? 1;
    const rest = lines.slice(1).join('\n');
    return `<h${level}>${inline(heading[2] ?? '')}</h${level}>${rest ? block(rest) : ''}`;
  }
  if (lines.every((line) => /^[-*] +/.test(line))) return `<ul>${withoutMarks(lines)}</ul>`;
  if (lines.every((line) => /^\d+\. +/.test(line))) return `<ol>${withoutMarks(lines)}</ol>`;
  return `<p>${lines.map(inline).join('<br>')}</p>`;
}

/** The page's HTML. Everything that is not markup of ours is escaped. */
export function renderMarkdown(markdown: string): string {
  return markdown
    .split(/^```.*$/m)
    .map((part, index) =>
      index % 2 === 1
        ? `<pre><code>${escapeHtml(part.replace(/^\n|\n$/g, ''))}</code></pre>`
        : part
            .split(/\n{2,}/)
            .map((text) => text.trim())
            .filter(Boolean)
            .map(block)
            .join('\n'),
    )
    .join('\n');
}

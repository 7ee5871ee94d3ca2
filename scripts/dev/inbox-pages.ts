/** The HTML pages of the development inbox: no scripts, nothing loaded from anywhere. */
import type { InboxMessage } from './inbox-messages';

const REFRESH_SECONDS = 3;

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Text that stays text inside an element or a quoted attribute. */
export const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 64rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .4rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; }
thead th { font-weight: 600; } tbody tr:hover { background: var(--soft); }
time, .channel { white-space: nowrap; font-variant-numeric: tabular-nums; }
.channel { border: 1px solid var(--line); border-radius: .3rem; padding: 0 .35rem; font-size: .85em; }
pre { background: var(--soft); padding: 1rem; white-space: pre-wrap; overflow-wrap: anywhere; }
iframe { width: 100%; height: 32rem; border: 1px solid var(--line); background: #fff; }
.empty { padding: 3rem 0; text-align: center; opacity: .7; }`;

function page(title: string, body: string, head = ''): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">${head}
<title>${escapeHtml(title)}</title><style>${STYLE}</style></head>
<body>${body}</body>
</html>
`;
}

const timeElement = (instant: string): string =>
  `<time datetime="${instant}">${instant.slice(0, 19).replace('T', ' ')}</time>`;

function row(message: InboxMessage): string {
  const title = message.subject || message.text.slice(0, 80) || '(no subject)';
  return `<tr><td>${timeElement(message.received_at)}</td><td><span class="channel">${message.channel}</span></td>
<td>${escapeHtml(message.from)}</td><td>${escapeHtml(message.to.join(', '))}</td>
<td><a href="/dev/inbox/${message.id}">${escapeHtml(title)}</a></td></tr>`;
}

/** Newest first, refreshed by the browser itself. */
export function listPage(messages: readonly InboxMessage[]): string {
  const table = `<table><thead><tr><th>Received (UTC)</th><th>Channel</th><th>From</th><th>To</th><th>Subject</th></tr></thead>
<tbody>${messages.map(row).join('\n')}</tbody></table>`;
  const content =
    messages.length > 0 ? table : '<p class="empty">Nothing yet. Mail and messages your agents send appear here.</p>';
  return page(
    'Development inbox',
    `<h1>Development inbox</h1>\n${content}`,
    `<meta http-equiv="refresh" content="${REFRESH_SECONDS}">`,
  );
}

function headerRows(headers: Record<string, string>): string {
  return Object.entries(headers)
    .map(([name, value]) => `<tr><th scope="row">${escapeHtml(name)}</th><td>${escapeHtml(value)}</td></tr>`)
    .join('\n');
}

/** One message: what it says, then how it came. Its HTML may neither run scripts nor load anything. */
export function messagePage(message: InboxMessage): string {
  const html = message.html
    ? `<h2>HTML</h2><iframe sandbox="" title="HTML part" srcdoc="${escapeHtml(message.html)}"></iframe>`
    : '';
  const text = message.text ? `<h2>Text</h2><pre>${escapeHtml(message.text)}</pre>` : '';
  return page(
    message.subject || message.id,
    `<p><a href="/dev/inbox">All messages</a></p>
<h1>${escapeHtml(message.subject || '(no subject)')}</h1>
<table><tbody>
<tr><th scope="row">From</th><td>${escapeHtml(message.from)}</td></tr>
<tr><th scope="row">To</th><td>${escapeHtml(message.to.join(', '))}</td></tr>
<tr><th scope="row">Received</th><td>${timeElement(message.received_at)} UTC</td></tr>
<tr><th scope="row">Channel</th><td><span class="channel">${message.channel}</span></td></tr>
</tbody></table>
${html}${text}
<h2>Headers</h2><table><tbody>${headerRows(message.headers)}</tbody></table>
<p><a href="/dev/inbox/${message.id}/raw">As it arrived</a></p>`,
  );
}

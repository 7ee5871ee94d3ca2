import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'node:http';
import { createTransport } from 'nodemailer';
import { type Inbox, startInbox } from '../../../scripts/dev/inbox';
import { parseGatewayMessage } from '../../../scripts/dev/inbox-http';
import { parseMail } from '../../../scripts/dev/inbox-mail';
import { InboxMessages } from '../../../scripts/dev/inbox-messages';
import { escapeHtml } from '../../../scripts/dev/inbox-pages';

let folder = '';
let inbox: Inbox | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'signalbox-inbox-'));
});

afterEach(async () => {
  await inbox?.stop();
  inbox = undefined;
  rmSync(folder, { recursive: true, force: true });
});

async function openInbox(): Promise<Inbox> {
  inbox = await startInbox({ smtpPort: 0, httpPort: 0, dir: folder, log: () => {} });
  return inbox;
}

async function send(smtpUrl: string, mail: Record<string, unknown>): Promise<unknown> {
  const transport = createTransport(smtpUrl);
  try {
    return await transport.sendMail({ from: 'Anna <anna@msp.test>', subject: 'Hello', text: 'Hi', ...mail });
  } finally {
    transport.close();
  }
}

const page = async (url: string): Promise<string> => (await fetch(url)).text();

test('a mail is shown with its text, HTML and headers, and with all it was really sent to', async () => {
  const { smtpUrl, messages } = await openInbox();
  await send(smtpUrl, {
    to: 'bo@client.test',
    bcc: 'cy@client.test',
    subject: 'Grüße',
    html: '<b>Hi</b>',
    messageId: '<1@x>',
  });
  expect(messages()).toMatchObject([
    {
      channel: 'email',
      from: 'Anna <anna@msp.test>',
      to: ['bo@client.test', 'cy@client.test'],
      subject: 'Grüße',
      text: 'Hi\n',
      html: '<b>Hi</b>\n',
      headers: { 'message-id': '<1@x>', subject: 'Grüße' },
    },
  ]);
});

test.each([
  ['bounced@sink.test', 550],
  ['Deferred@Sink.Test', 451],
])('%s is refused with %i, and nothing is kept', async (to, responseCode) => {
  const { smtpUrl, messages } = await openInbox();
  await expect(send(smtpUrl, { to })).rejects.toMatchObject({ responseCode });
  expect(messages()).toEqual([]);
});

test('one refused recipient does not keep the mail from the others', async () => {
  const { smtpUrl, messages } = await openInbox();
  await send(smtpUrl, { to: ['bounced@sink.test', 'bo@client.test'] });
  expect(messages()[0]?.to).toEqual(['bo@client.test']);
});

test('a login is accepted, whatever it is', async () => {
  const { smtpUrl, messages } = await openInbox();
  await send(smtpUrl.replace('://', '://user:secret@'), { to: 'bo@client.test' });
  expect(messages()).toHaveLength(1);
});

test('a gateway message is answered with its id and shown in its channel', async () => {
  const { gatewayUrl, inboxUrl } = await openInbox();
  const body = JSON.stringify({ channel: 'sms', to: '+49 30 1', body: 'Disk full', urgent: true });
  const response = await fetch(gatewayUrl('sms'), { method: 'POST', body });
  const { message_id: id } = (await response.json()) as { message_id: string };
  const { messages } = (await (await fetch(`${inboxUrl}.json`)).json()) as { messages: unknown[] };
  expect(messages).toMatchObject([{ id, channel: 'sms', to: ['+49 30 1'], text: 'Disk full' }]);
  expect(JSON.parse(await page(`${inboxUrl}/${id}/raw`))).toMatchObject({ urgent: true });
});

test.each([
  ['/gateway/fax', '{}', 404],
  ['/gateway/sms', '[1]', 400],
  ['/gateway/sms', '{"to":', 400],
])('POST %s with %s is refused with %i', async (path, body, status) => {
  const { inboxUrl } = await openInbox();
  const response = await fetch(new URL(path, inboxUrl), { method: 'POST', body });
  expect(response.status).toBe(status);
});

test('nothing a message says becomes markup of the page, and its HTML is locked in', async () => {
  const { smtpUrl, inboxUrl, messages } = await openInbox();
  const attack = `<script>alert('x')</script>`;
  await send(smtpUrl, {
    to: 'bo@client.test',
    subject: attack,
    text: attack,
    html: attack,
    headers: { 'X-Note': attack },
  });
  const [message] = messages();
  const response = await fetch(`${inboxUrl}/${message?.id}`);
  const html = await response.text();
  expect(html).not.toContain('<script');
  expect(html).toContain(`<iframe sandbox="" title="HTML part" srcdoc="${escapeHtml(attack)}`);
  expect(await page(inboxUrl)).not.toContain('<script');
  expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
});

test('the newest message comes first', async () => {
  const { smtpUrl, messages } = await openInbox();
  for (const subject of ['one', 'two', 'three']) await send(smtpUrl, { to: 'bo@client.test', subject });
  expect(messages().map(({ subject }) => subject)).toEqual(['three', 'two', 'one']);
});

test('messages survive a restart; clearing removes them from the disk too', async () => {
  const first = await openInbox();
  await send(first.smtpUrl, { to: 'bo@client.test', subject: 'kept' });
  writeFileSync(join(folder, 'msg_000cutoff.json'), '{"message": {');
  await first.stop();
  const second = await openInbox();
  expect(second.messages().map(({ subject }) => subject)).toEqual(['kept']);
  await fetch(`${second.inboxUrl}.json`, { method: 'DELETE' });
  expect(second.messages()).toEqual([]);
  expect(readdirSync(folder)).toEqual(['msg_000cutoff.json']);
});

test('only the latest 500 are kept', async () => {
  const box = await InboxMessages.open(folder);
  for (let index = 0; index < 503; index += 1) {
    await box.add(parseGatewayMessage('sms', { to: 'x', body: String(index) }), Buffer.from('{}'));
  }
  expect(box.list()).toHaveLength(500);
  expect(box.list()[0]?.text).toBe('502');
  expect(readdirSync(folder)).toHaveLength(500);
});

test('mail that is not valid UTF-8 is given back byte by byte', async () => {
  const box = await InboxMessages.open(folder);
  const source = Buffer.concat([Buffer.from('Subject: x\r\n\r\n'), Buffer.from([0xe4, 0xff, 0x0a])]);
  const { id } = await box.add(await parseMail(source, { from: '', to: ['a@b.test'] }), source);
  expect((await box.raw(id))?.equals(source)).toBe(true);
});

test('mail without headers still has its envelope sender', async () => {
  const arrival = await parseMail(Buffer.from('\r\njust text\r\n'), { from: 'bounce@msp.test', to: ['a@b.test'] });
  expect(arrival).toMatchObject({ from: 'bounce@msp.test', subject: '', text: 'just text\n' });
});

/** Asks as a browser would for a page elsewhere; \`fetch\` does not let these headers be set. */
function ask(url: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    asked.once('error', reject).end();
  });
}

test('pages from elsewhere can neither read nor write, whatever name they use', async () => {
  const { inboxUrl } = await openInbox();
  expect(await ask(inboxUrl, { host: 'evil.example:8025' })).toBe(403);
  expect(await ask(inboxUrl, { origin: 'https://evil.example' })).toBe(403);
  expect(await ask(inboxUrl, {})).toBe(200);
});

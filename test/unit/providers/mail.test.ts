import { createMail, type Mail, type MailMessage } from '../../../src/providers/mail';
import { startSmtp, type SmtpStandIn } from '../../support/stand-ins/smtp';

let smtp: SmtpStandIn;
let mail: Mail;

const message = (over: Partial<MailMessage> = {}): MailMessage => ({
  to: 'tech@msp.example',
  subject: 'Printer offline',
  text: 'Ticket TCK-1 needs you.',
  messageId: 'exec_1.notify.0@signalbox.localhost',
  signal: new AbortController().signal,
  ...over,
});

beforeEach(async () => {
  smtp = await startSmtp();
  mail = createMail({ smtpUrl: smtp.url, from: 'Signalbox <agents@signalbox.localhost>' });
});

afterEach(async () => {
  mail.close();
  await smtp.stop();
});

describe('an accepted mail', () => {
  test('arrives with the given message id, sender, subject and both bodies', async () => {
    const sent = await mail.send(message({ html: '<p>Ticket</p>', headers: { 'X-Signalbox-Execution': 'exe_1' } }));
    expect(sent).toEqual({
      message_id: '<exec_1.notify.0@signalbox.localhost>',
      response: expect.stringMatching(/^250 /) as string,
    });
    const [received] = smtp.mails;
    expect(received).toMatchObject({ from: 'agents@signalbox.localhost', to: ['tech@msp.example'] });
    expect(received?.source).toContain('Message-ID: <exec_1.notify.0@signalbox.localhost>');
    expect(received?.source).toContain('From: Signalbox <agents@signalbox.localhost>');
    expect(received?.source).toContain('Subject: Printer offline');
    expect(received?.source).toContain('X-Signalbox-Execution: exe_1');
    expect(received?.source).toContain('<p>Ticket</p>');
  });

  test('travels over the connection of the mail before it', async () => {
    await mail.send(message());
    await mail.send(message());
    expect(smtp.connections()).toBe(1);
  });

  test('uses at most five connections however many are sent at once', async () => {
    smtp.behave({ delayMs: 20 });
    await Promise.all(Array.from({ length: 20 }, async () => mail.send(message())));
    expect(smtp.mails).toHaveLength(20);
    expect(smtp.connections()).toBeLessThanOrEqual(5);
  });

  test('is not disturbed by an idle connection that died', async () => {
    await mail.send(message());
    smtp.dropConnections();
    await mail.send(message({ subject: 'Second' }));
    expect(smtp.mails).toHaveLength(2);
    expect(smtp.connections()).toBe(2);
  });

  test('keeps a name with letters outside ASCII', async () => {
    await mail.send(message({ to: 'Zoë <zoe@msp.example>', subject: 'Überlastung' }));
    expect(smtp.mails[0]?.to).toEqual(['zoe@msp.example']);
    expect(smtp.mails[0]?.source).toMatch(/Subject: =\?UTF-8\?/);
  });
});

describe('a refused mail', () => {
  test.each([
    [550, 'rejected', false],
    [553, 'rejected', false],
    [451, 'server_error', true],
    [452, 'server_error', true],
    [503, 'server_error', true],
  ])('with %i at the recipient is %s', async (code, kind, retryable) => {
    smtp.behave({ recipient: () => ({ code, text: 'No' }) });
    const sending = mail.send(message());
    await expect(sending).rejects.toMatchObject({ name: 'ProviderError', kind, retryable });
    await expect(sending).rejects.toThrow(`${code} No`);
  });

  test.each([
    [554, 'rejected', false],
    [452, 'server_error', true],
  ])('with %i after the message is %s', async (code, kind, retryable) => {
    smtp.behave({ message: () => ({ code, text: 'No' }) });
    await expect(mail.send(message())).rejects.toMatchObject({ kind, retryable });
  });

  test('with a 5xx greeting can be tried again: it says nothing about the mail', async () => {
    smtp.behave({ connect: () => ({ code: 554, text: 'No service' }) });
    await expect(mail.send(message())).rejects.toMatchObject({ kind: 'server_error', retryable: true });
  });

  test('leaves the connection usable for the next mail', async () => {
    smtp.behave({ recipient: () => ({ code: 550, text: 'No' }) });
    await expect(mail.send(message())).rejects.toMatchObject({ kind: 'rejected' });
    smtp.behave({});
    await mail.send(message());
    expect(smtp.mails).toHaveLength(1);
  });

  test('for a wrong password is an auth error and not retried', async () => {
    const guarded = await startSmtp({ auth: { user: 'relay', pass: 'right' } });
    const sender = createMail({ smtpUrl: guarded.url.replace('right', 'wrong'), from: 'a@b.example' });
    await expect(sender.send(message())).rejects.toMatchObject({ kind: 'auth', retryable: false });
    sender.close();
    await guarded.stop();
  });
});

describe('a broken connection', () => {
  test('after the message was transmitted is a network error, and the mail is not sent again', async () => {
    let copies = 0;
    smtp.behave({
      message: () => {
        copies += 1;
        return 'hang_up';
      },
    });
    await expect(mail.send(message())).rejects.toMatchObject({ kind: 'network', retryable: true });
    expect(copies).toBe(1);
  });

  test('after the message on a reused connection is not sent again either', async () => {
    await mail.send(message());
    let copies = 0;
    smtp.behave({
      message: () => {
        copies += 1;
        return 'hang_up';
      },
    });
    await expect(mail.send(message())).rejects.toMatchObject({ kind: 'network' });
    expect(copies).toBe(1);
  });

  test('to a relay that is down is a network error', async () => {
    await smtp.stop();
    await expect(mail.send(message())).rejects.toMatchObject({ kind: 'network', retryable: true });
    smtp = await startSmtp();
  });

  test('before the greeting is a network error after one more try', async () => {
    smtp.behave({ connect: () => 'hang_up' });
    await expect(mail.send(message())).rejects.toMatchObject({ kind: 'network', retryable: true });
    expect(smtp.connections()).toBe(2);
  });
});

describe('a recipient into which a value was filled', () => {
  test.each([
    ['{value}@msp.example', 'evil@attacker.example ('],
    ['{value}@msp.example', 'evil@attacker.example '],
    ['{value}@msp.example', '"Ana" <evil@attacker.example> '],
    ['{value}@msp.example', '<evil@attacker.example>'],
    ['desk+{value}@msp.example', 'x@attacker.example ('],
    ['{value} <desk@msp.example>', '<evil@attacker.example>'],
    ['"{value}" <desk@msp.example>', 'Ana" <evil@attacker.example> "'],
  ])('%j stays where its author sent it, or goes nowhere: %j', async (recipient, value) => {
    const sending = mail.send(message({ to: recipient.replace('{value}', value) }));
    await expect(sending).rejects.toMatchObject({ kind: 'invalid_input' });
    expect(smtp.mails).toHaveLength(0);
  });

  test.each([
    ['ana@msp.example', 'ana@msp.example'],
    [' <ana@msp.example> ', 'ana@msp.example'],
    ['Ana (West) <ana@msp.example>', 'ana@msp.example'],
    ['"Reyes, Ana" <ana@msp.example>', 'ana@msp.example'],
    ['evil@attacker.example <desk@msp.example>', 'desk@msp.example'],
    ['ana@msp.example;', 'ana@msp.example'],
  ])('%j is the mailbox %s', async (to, mailbox) => {
    await mail.send(message({ to }));
    expect(smtp.mails[0]?.to).toEqual([mailbox]);
  });
});

describe('input that could forge headers', () => {
  test.each<[string, Partial<MailMessage>]>([
    ['a line break in the subject', { subject: 'Hi\r\nBcc: all@victim.example' }],
    ['a bare line feed in the subject', { subject: 'Hi\nBcc: all@victim.example' }],
    ['a line break in the recipient', { to: 'a@b.example\r\nBcc: all@victim.example' }],
    ['a line break in the message id', { messageId: 'x@y\r\nBcc: all@victim.example' }],
    ['a line break in a header', { headers: { 'X-A': '1\r\nBcc: all@victim.example' } }],
    ['a line break in a header name', { headers: { 'X-A\r\nBcc': 'all@victim.example' } }],
    ['two recipients', { to: 'a@b.example, c@d.example' }],
    ['no address', { to: 'nobody' }],
    ['an empty recipient', { to: '' }],
  ])('%s is refused before anything is sent', async (_what, over) => {
    await expect(mail.send(message(over))).rejects.toMatchObject({ kind: 'invalid_input', retryable: false });
    expect(smtp.connections()).toBe(0);
  });

  test('a line break in the sender is refused at start', () => {
    const create = () => createMail({ smtpUrl: smtp.url, from: 'a@b.example\r\nBcc: c@d.example' });
    expect(create).toThrow('one line');
  });
});

test('without a relay the variable to set is named', async () => {
  const none = createMail({ smtpUrl: '', from: 'a@b.example' });
  await expect(none.send(message())).rejects.toMatchObject({ kind: 'not_configured', retryable: false });
  expect(() => createMail({ smtpUrl: 'localhost:25', from: 'a@b.example' })).toThrow('SMTP_URL');
});

test('an abort is rethrown as it is and ends the wait', async () => {
  smtp.behave({ delayMs: 60_000 });
  const controller = new AbortController();
  const reason = new Error('cancelled');
  const sending = mail.send(message({ signal: controller.signal }));
  setTimeout(() => controller.abort(reason), 50);
  await expect(sending).rejects.toBe(reason);
});

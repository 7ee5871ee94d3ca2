import { readConfig } from '../../../src/config';
import { createProviders } from '../../../src/providers/providers';
import { startSmtp } from '../../support/stand-ins/smtp';

test('the providers are built from the configuration and closed together', async () => {
  const smtp = await startSmtp();
  const providers = createProviders(readConfig({ SIGNALBOX_MODE: 'development', SMTP_URL: smtp.url }));
  const { signal } = new AbortController();
  expect(providers.ai.name).toBe('offline');
  await providers.mail.send({ to: 'a@b.example', subject: 's', text: 't', messageId: 'k@d.example', signal });
  expect(smtp.mails).toHaveLength(1);
  const asking = providers.gateways.deliver({ channel: 'sms', to: '+15551234567', body: 'b', key: 'k', signal });
  await expect(asking).rejects.toMatchObject({ kind: 'not_configured' });
  const reading = providers.http.request({ method: 'GET', url: 'http://127.0.0.1/', guarded: true, signal });
  await expect(reading).rejects.toMatchObject({ kind: 'blocked_address' });
  await providers.close();
  await smtp.stop();
});

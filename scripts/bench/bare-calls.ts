/** The calls that three outside steps make, by the libraries that the product makes them with, and nothing beside. */
import { createTransport } from 'nodemailer';
import { Agent, request } from 'undici';
import type { OutsideAddresses } from './messages';

const QUESTION = {
  model: 'bench',
  messages: [{ role: 'user', content: 'Summarise: the printer on floor two is out' }],
};
const MAIL = { from: 'bench@example.com', to: 'technician@example.com', subject: 'Ticket', text: 'A short answer.' };
const SMTP_CONNECTIONS_MAX = 5;

/** Activities that ask a model, send a mail and call a service, and keep nothing of what they hear. */
export function createBareCalls({ AI_BASE_URL, SMTP_URL, HTTP_URL }: OutsideAddresses) {
  const dispatcher = new Agent();
  const transport = createTransport({ url: SMTP_URL, pool: true, maxConnections: SMTP_CONNECTIONS_MAX });
  const post = async (url: string, body: unknown): Promise<void> => {
    const headers = { 'content-type': 'application/json' };
    const reply = await request(url, { dispatcher, method: 'POST', headers, body: JSON.stringify(body) });
    await reply.body.json();
    if (reply.statusCode >= 300) throw new Error(`${url} answered ${reply.statusCode}`);
  };
  return {
    ask: () => post(`${AI_BASE_URL}/chat/completions`, QUESTION),
    mail: async () => void (await transport.sendMail(MAIL)),
    call: () => post(HTTP_URL, { ticket: 'tkt_1' }),
  };
}

export type BareCalls = ReturnType<typeof createBareCalls>;

/** The mail sink as tests read it. */
interface Mail {
  id: string;
  from: string;
  to: string[];
  subject: string;
  text: string;
  headers: Record<string, string>;
  channel: string;
}

async function everyMail(inboxUrl: string): Promise<Mail[]> {
  const reply = await fetch(`${inboxUrl}.json`);
  return ((await reply.json()) as { messages: Mail[] }).messages;
}

/** Every message the sink took for an execution. */
export const mailbox = async (inboxUrl: string, executionId: string): Promise<Mail[]> =>
  (await everyMail(inboxUrl)).filter((mail) => JSON.stringify(mail.headers).includes(executionId));

/** The subjects of all that was sent to an address. */
export const subjectsTo = async (inboxUrl: string, address: string): Promise<string[]> =>
  (await everyMail(inboxUrl)).filter(({ to }) => to.join().includes(address)).map(({ subject }) => subject);

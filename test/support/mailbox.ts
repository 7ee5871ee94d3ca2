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

/** Every message the sink took for an execution. */
export async function mailbox(inboxUrl: string, executionId: string): Promise<Mail[]> {
  const reply = await fetch(`${inboxUrl}.json`);
  const { messages } = (await reply.json()) as { messages: Mail[] };
  return messages.filter((mail) => JSON.stringify(mail.headers).includes(executionId));
}

/** What servers put into their answers that only resemble OpenAI, told as the SDK knows it. */
import type { LanguageModelMiddleware } from 'ai';

/** What a model thought before it answered; where no mark ends it, there is no answer behind it. */
const THOUGHTS = /^\s*<(think|thinking)>(?:[\s\S]*?<\/\1>\s*|[\s\S]*$)/i;

interface ChatReply {
  choices?: { message?: { content?: unknown; refusal?: unknown } }[];
}

function isRefusal(reply: unknown): boolean {
  const said = (reply as ChatReply | undefined)?.choices?.[0]?.message;
  return typeof said?.refusal === 'string' && said.refusal !== '' && !said.content;
}

/** Keeps thoughts out of the text, which goes to clients, and knows a refusal that stands beside it. */
export const asCompatible: LanguageModelMiddleware = {
  specificationVersion: 'v3',
  async wrapGenerate({ doGenerate }) {
    const result = await doGenerate();
    const content = result.content.map((part) =>
      part.type === 'text' ? { ...part, text: part.text.replace(THOUGHTS, '') } : part,
    );
    if (!isRefusal(result.response?.body)) return { ...result, content };
    return { ...result, content, finishReason: { unified: 'content-filter', raw: 'refusal' } };
  },
};

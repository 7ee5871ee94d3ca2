/** An HTTP gateway for sms, chat and webhooks; also a far side for http_request steps and a canary for the address guard. */
import { startHttpServer, type Answer, type HttpStandIn, type ReceivedRequest } from './http-server';

/** Decides the answer to one request. */
export type GatewayReply = (request: ReceivedRequest) => Answer;

/** A running gateway whose answers can be changed on the way. */
export interface GatewayStandIn extends HttpStandIn {
  setReply(reply: GatewayReply): void;
  setDelay(delayMs: number): void;
}

const accepted: GatewayReply = () => ({ status: 202, body: { id: 'gw_1' } });

/** Starts a gateway; it accepts everything unless told otherwise. */
export async function startGateway(options: { reply?: GatewayReply; delayMs?: number } = {}): Promise<GatewayStandIn> {
  let reply = options.reply ?? accepted;
  let delayMs = options.delayMs ?? 0;
  const server = await startHttpServer((request) => ({ delayMs, ...reply(request) }));
  return {
    ...server,
    setReply(next) {
      reply = next;
    },
    setDelay(next) {
      delayMs = next;
    },
  };
}

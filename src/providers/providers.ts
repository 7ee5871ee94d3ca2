/** Everything outside, built once per process. */
import type { Config } from '../config';
import { createAi, type Ai } from './ai';
import { createGateways, type Gateways } from './gateway';
import { createHttp, type HttpClient } from './http';
import { createMail, type Mail } from './mail';

/** The outside as activities see it. */
export interface Providers {
  ai: Ai;
  mail: Mail;
  gateways: Gateways;
  http: HttpClient;
  close(): Promise<void>;
}

/** Builds every provider from the configuration; nothing connects before it is used. */
export function createProviders(config: Config, mail: Mail = createMail(config.mail)): Providers {
  const http = createHttp({ allowAddresses: config.httpAllowAddresses });
  return {
    ai: createAi(config.ai),
    mail,
    gateways: createGateways(config.gateways, http),
    http,
    async close() {
      mail.close();
      await http.close();
    },
  };
}

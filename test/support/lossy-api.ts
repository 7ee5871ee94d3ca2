/** An API of its own, whose line to the store can be broken, with an org. */
import { createOrg, joinStack, type Harness, type TestOrg } from './harness';
import { startApi } from './stack';
import { startLossyLine, type LossyLine } from './stand-ins/lossy-line';

export interface LossyApi {
  /** Beside the line, so that what the API could not say can be read. */
  harness: Harness;
  line: LossyLine;
  baseUrl: string;
  /** Its calls go to the API. */
  org: TestOrg;
  stop(): Promise<void>;
}

export async function startLossyApi(): Promise<LossyApi> {
  const harness = joinStack();
  const line = await startLossyLine(harness.address.env['MONGODB_URI'] ?? '');
  const own = await startApi(harness.address, { MONGODB_URI: line.uri });
  return {
    harness,
    line,
    baseUrl: own.baseUrl,
    org: await createOrg(harness.store, own),
    async stop() {
      await own.api.stop();
      await line.stop();
      await harness.close();
    },
  };
}

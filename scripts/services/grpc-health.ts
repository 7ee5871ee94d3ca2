/** Asks a gRPC server whether a service is serving; small enough not to need a gRPC library. */
import { connect } from 'node:http2';

const TIMEOUT_MS = 2_000;

// HealthCheckResponse { status: SERVING }.
const SERVING = Buffer.from([0x08, 0x01]);
const FRAME_HEAD_BYTES = 5;

// A gRPC frame (not compressed, length) around HealthCheckRequest { service }.
function request(service: string): Buffer {
  const name = Buffer.from(service);
  const message = Buffer.concat([Buffer.from([0x0a, name.length]), name]);
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** True when `service` at `address` (host:port, without TLS) answers that it is serving. */
export function isServing(address: string, service: string): Promise<boolean> {
  return new Promise((resolve) => {
    const session = connect(`http://${address}`);
    const finish = (isReady: boolean) => {
      resolve(isReady);
      session.destroy();
    };
    session.setTimeout(TIMEOUT_MS, () => finish(false));
    session.once('error', () => finish(false));
    const stream = session.request({
      ':method': 'POST',
      ':path': '/grpc.health.v1.Health/Check',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.once('error', () => finish(false));
    stream.once('close', () => finish(Buffer.concat(chunks).subarray(FRAME_HEAD_BYTES).equals(SERVING)));
    stream.end(request(service));
  });
}

/** The SDK's errors in our words. */
import { AISDKError, APICallError, InvalidArgumentError, InvalidPromptError, UnsupportedFunctionalityError } from 'ai';
import { ProviderError, statusError } from './error';

const FROM = 'The AI provider';

function fromReply(error: APICallError, status: number, secret: string): ProviderError {
  // A success that cannot be read is a proxy's page or half an answer: the next one may be whole.
  if (status < 400) return new ProviderError('server_error', `${FROM} answered ${status} with something unreadable`);
  const headers = error.responseHeaders ?? {};
  const exact = Number(headers['retry-after-ms']) / 1000;
  const retryAfter = exact > 0 ? String(exact) : headers['retry-after'];
  return statusError({
    status,
    headers: retryAfter ? { 'retry-after': retryAfter } : {},
    from: FROM,
    // Some providers repeat the key they were sent.
    reason: secret ? error.message.replaceAll(secret, '***') : error.message,
  });
}

/**
 * Maps an error of the SDK. Its causes are dropped where they hold the prompt, which is the customer's text
 * and does not belong into logs.
 */
export function asProviderError(error: unknown, secret: string): ProviderError {
  if (error instanceof ProviderError) return error;
  if (APICallError.isInstance(error)) {
    if (error.statusCode !== undefined) return fromReply(error, error.statusCode, secret);
    return new ProviderError('network', `${FROM} cannot be reached`, { cause: error.cause });
  }
  const isOurs =
    InvalidPromptError.isInstance(error) ||
    InvalidArgumentError.isInstance(error) ||
    UnsupportedFunctionalityError.isInstance(error);
  if (isOurs) return new ProviderError('invalid_input', `The request does not fit the AI provider: ${error.message}`);
  if (AISDKError.isInstance(error))
    return new ProviderError('server_error', `${FROM} answered with something unreadable`);
  return new ProviderError('network', `${FROM} cannot be reached`, { cause: error });
}

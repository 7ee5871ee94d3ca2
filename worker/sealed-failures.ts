/** Failures whose texts can be sealed: the library makes a payload of them, which the codec then sees. */
import { DefaultFailureConverter } from '@temporalio/common';

export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });

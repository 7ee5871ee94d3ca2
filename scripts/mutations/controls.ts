/** Bugs that each take away one control of `docs/reference/threats.md`, in the order of the threats, each with the suite that proves it. */
import { ACCESS } from './controls-access';
import { CREDENTIALS } from './controls-credentials';
import { EFFECTS } from './controls-effects';
import { REQUESTS } from './controls-requests';
import type { Control } from './mutation';

export const CONTROLS: readonly Control[] = [...ACCESS, ...CREDENTIALS, ...REQUESTS, ...EFFECTS];

/** Before every suite: properties try the same cases each time, so that one commit always gets one answer; a night draws new ones. */
import { configureGlobal } from 'fast-check';

const SEED = 20_261_121;

if (!process.env['PROPERTY_RUNS']) configureGlobal({ seed: SEED });

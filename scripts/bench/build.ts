/** What is measured is compiled: nobody deploys through a loader that translates while it runs. */
import { resolve } from 'node:path';
import { compiledIn, compileInto } from '../compile';

const FOLDER = resolve(__dirname, '../../.signalbox/bench/build');

/** Builds anew. */
export const buildMeasured = (): void => compileInto(FOLDER, 'tsconfig.bench.json');

/** The compiled form of a script of the project. */
export const compiled = (script: string): string => compiledIn(FOLDER, script);

/** The product's own processes run from the build, as the image does; it is made once for all suites of a run. */
import { resolve } from 'node:path';
import { compiledIn, compileInto } from '../../scripts/compile';

const FOLDER = resolve(__dirname, '../../dist');

/** The compiled form of a script of the project. */
export const compiled = (script: string): string => compiledIn(FOLDER, script);

let isMade = false;

/** Jest's global setup of suites that start the product themselves. A second one would remove what runs by then. */
export default function build(): void {
  if (!isMade) compileInto(FOLDER, 'tsconfig.build.json');
  isMade = true;
}

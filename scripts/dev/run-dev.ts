/** The command line of `npm run dev`: flags, signals and what is printed when all is up. */
import { onStopAsked, onUnread } from '../services/exit-hooks';
import { type Scripts, Session, type Started } from './session';

const USAGE = `npm run dev -- [--verbose] [--reset]

  --verbose   show every log line of api and worker, not only warnings
  --reset     remove all data of earlier runs first`;

// A terminal sends Ctrl-C to every process in front of it and our parents pass it on: the copies are one wish.
const SAME_WISH_MS = 700;

const startedAt = Date.now();
const print = (line: string): void => console.log(line);

function announce({ baseUrl, temporalUiUrl, inboxUrl, seed }: Started): void {
  const seconds = ((Date.now() - startedAt) / 1_000).toFixed(1);
  const [user] = seed.users;
  print(`
Signalbox is ready after ${seconds} s.

  API              ${baseUrl}   docs at ${baseUrl}/docs
  Sign-in          ${baseUrl}/console/api/session${user ? `   (${user.email} / ${user.password})` : ''}
  Temporal Web UI  ${temporalUiUrl || 'not ours'}
  Inbox            ${inboxUrl}
  API key          ${seed.keys.plat_all}
  For scripts      .signalbox/dev.json

Start an execution:

${seed.curl.replaceAll('$BASE', baseUrl)}

Ctrl-C stops everything.`);
}

/** The first signal stops everything in order, a second one at once: exit hooks then kill what is left. */
function stopOnSignals(session: Session): void {
  let firstAt = 0;
  const stop = () => {
    if (firstAt > 0) return;
    firstAt = Date.now();
    print('\nstopping (Ctrl-C again to end everything at once)');
    void session.stop().then(() => process.exit(0));
  };
  onStopAsked(() => {
    if (firstAt > 0 && Date.now() - firstAt > SAME_WISH_MS) process.exit(1);
    stop();
  });
  // Said of every further line, so it is never a second wish.
  onUnread(stop);
}

export interface Project {
  root: string;
  /** Makes the scripts that are not there yet. */
  build?: () => Promise<void>;
  scripts: Scripts;
}

/** Runs the project until it is told to stop; ends the process. */
export async function runDev(project: Project): Promise<void> {
  const flags = new Set(process.argv.slice(2));
  const unknown = [...flags].filter((flag) => flag !== '--verbose' && flag !== '--reset');
  if (unknown.length > 0) {
    print(unknown.includes('--help') ? USAGE : `unknown: ${unknown.join(' ')}\n\n${USAGE}`);
    process.exit(unknown.includes('--help') ? 0 : 2);
  }
  const isVerbose = flags.has('--verbose');
  const session = new Session({ ...project, env: process.env, isVerbose, isReset: flags.has('--reset'), print });
  stopOnSignals(session);
  try {
    announce(await session.start());
  } catch (error) {
    // Written for people; where it was thrown matters only to those who look into the supervisor itself.
    console.error(error instanceof Error && !isVerbose ? error.message : error);
    await session.stop();
    process.exit(1);
  }
}

/**
 * The first thing every `npm run` command meets. Plain JavaScript without dependencies, because it runs before they
 * are there: checks Node, installs what is missing, then hands over to the command's TypeScript entry.
 */
'use strict';

const { spawn } = require('node:child_process');
const { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } = require('node:fs');
const { dirname, join, resolve } = require('node:path');

const NODE_MINIMUM = [20, 19];
const COMMANDS = ['dev', 'test', 'check', 'bench', 'fuzz'];
const HEARTBEAT_MS = 1_500;
const PARENT_CHECK_MS = 500;
const TAKEOVER_MS_MAX = 10_000;
const TAKEOVER_PAUSE_MS = 20;
// npm takes back what it has installed before it ends, which can take a minute.
const NPM_STOP_MS_MAX = 2_000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const SIGNAL_EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGKILL: 137, SIGTERM: 143 };

const root = resolve(__dirname, '..');
const installLock = join(root, '.signalbox', 'install.lock');
const installed = join(root, 'node_modules', '.package-lock.json');

/** Ends with one clear sentence instead of a stack. */
function refuse(message) {
  console.error(`signalbox: ${message}`);
  process.exit(1);
}

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const [neededMajor, neededMinor] = NODE_MINIMUM;
  if (major > neededMajor || (major === neededMajor && minor >= neededMinor)) return;
  refuse(`Node ${NODE_MINIMUM.join('.')} or newer is needed, this is ${process.versions.node} (see .nvmrc)`);
}

/** npm leaves a copy of the lock file in node_modules; an older or missing one means the install is not current. */
function needsInstall() {
  // An install for production has such a copy, too, and lacks what every command is started with.
  if (!existsSync(installed) || !existsSync(join(root, 'node_modules', 'tsx', 'package.json'))) return true;
  return statSync(join(root, 'package-lock.json')).mtimeMs > statSync(installed).mtimeMs;
}

/** The process's parent; 0 when it is gone or there is no /proc. */
function parentOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return 0;
  }
}

/** The shell npm starts scripts through, when it is still there between npm and us. */
function isNpmShell(pid) {
  try {
    return String(readFileSync(`/proc/${pid}/cmdline`))
      .split('\0')
      .includes('-c');
  } catch {
    return false;
  }
}

/**
 * Neither npm ended by a signal nor its shell passes the signal on: we would run on unseen. Calls `onGone` once when
 * one of them is gone. Started without npm, outliving the shell is the caller's wish.
 */
function watchNpm(onGone) {
  if (!process.env.npm_lifecycle_event) return undefined;
  const parent = process.ppid;
  const hasShell = isNpmShell(parent);
  const npm = parentOf(parent);
  const timer = setInterval(() => {
    if (process.ppid === parent && (!hasShell || parentOf(parent) === npm)) return;
    clearInterval(timer);
    onGone();
  }, PARENT_CHECK_MS);
  return timer;
}

/**
 * Runs a program to its end and passes signals on; resolves with its exit code. With `stopMsMax`, a signal ends the
 * program within that time, and what it was asked for is its exit code, however it ended.
 */
function run(file, args, { stopMsMax = 0, onStart = () => {}, ...options } = {}) {
  return new Promise((resolvePromise) => {
    const child = spawn(file, args, { cwd: root, stdio: 'inherit', ...options });
    if (child.pid) onStart(child.pid);
    let limit;
    let asked;
    const forward = (signal) => {
      child.kill(signal);
      if (stopMsMax === 0) return;
      asked ??= signal;
      limit ??= setTimeout(() => child.kill('SIGKILL'), stopMsMax);
    };
    for (const signal of SIGNALS) process.on(signal, forward);
    const watch = watchNpm(() => forward('SIGTERM'));
    child.once('error', (error) => refuse(`cannot run ${file}: ${error.message}`));
    child.once('exit', (code, signal) => {
      for (const name of SIGNALS) process.off(name, forward);
      clearInterval(watch);
      clearTimeout(limit);
      resolvePromise(SIGNAL_EXIT_CODES[asked] ?? code ?? SIGNAL_EXIT_CODES[signal] ?? 1);
    });
  });
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** The pids a lock names, or undefined when there is no lock. The second one is npm's, which may outlive the first. */
function readLock() {
  try {
    return readFileSync(installLock, 'utf8').split('\n').filter(Boolean).map(Number);
  } catch {
    return undefined;
  }
}

/** The process that installs packages here; 0 while the lock does not name it yet; undefined when there is none. */
function installer(pids = readLock()) {
  if (pids?.length !== 0) return pids?.find(isAlive);
  const madeAt = statSync(installLock, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return Date.now() - madeAt < HEARTBEAT_MS ? 0 : undefined;
}

/** True when this process made the file; false when it is there already. */
function tryCreate(path) {
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${process.pid}\n`, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    return refuse(`packages cannot be installed: ${error.message}`);
  }
}

/**
 * Removes the lock of a dead installer. Guarded by a second file, and only a lock that was seen: of two that want the
 * dead one away, the slower would remove the lock that the faster has just made.
 */
function clearDeadLock() {
  const guard = `${installLock}.takeover`;
  if (!tryCreate(guard)) {
    const age = Date.now() - (statSync(guard, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > TAKEOVER_MS_MAX) rmSync(guard, { force: true });
    return;
  }
  const pids = readLock();
  if (pids && installer(pids) === undefined) rmSync(installLock, { force: true });
  rmSync(guard, { force: true });
}

/** Two installs in one folder delete each other's files: the second one waits, and then has nothing left to do. */
async function installOnce() {
  while (!tryCreate(installLock)) {
    const pid = installer();
    if (pid === undefined) clearDeadLock();
    else console.log(`signalbox: … waiting for process ${pid}, which installs packages (${installLock})`);
    await new Promise((done) => setTimeout(done, pid === undefined ? TAKEOVER_PAUSE_MS : HEARTBEAT_MS));
  }
  const release = () => rmSync(installLock, { force: true });
  process.once('exit', release);
  if (needsInstall()) await install();
  process.off('exit', release);
  release();
}

/** npm writes it last: what an end in between leaves behind does not pass for whole. */
function forgetInstall() {
  try {
    rmSync(installed, { force: true });
  } catch (error) {
    refuse(`packages cannot be installed: ${error.message}`);
  }
}

/** npm is silent while it works when its output is not a terminal, so the elapsed time is printed beside it. */
async function install() {
  const startedAt = Date.now();
  const seconds = () => Math.round((Date.now() - startedAt) / 1_000);
  console.log('signalbox: installing packages (npm ci)');
  const timer = setInterval(() => console.log(`signalbox: … npm ci (${seconds()} s)`), HEARTBEAT_MS);
  const npm = process.env.npm_execpath;
  // NODE_ENV=production would leave out what the commands are made of.
  const args = ['ci', '--include=dev'];
  const options = { stopMsMax: NPM_STOP_MS_MAX, onStart: (pid) => appendFileSync(installLock, `${pid}\n`) };
  forgetInstall();
  const code = await (npm ? run(process.execPath, [npm, ...args], options) : run('npm', args, options));
  clearInterval(timer);
  if (code !== 0) process.exit(code);
  console.log(`signalbox: packages installed in ${seconds()} s`);
}

async function main() {
  // A line that nobody reads any more, as behind a `tee` that Ctrl-C has ended, must not end us before our command.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {});
  const [command = '', ...args] = process.argv.slice(2);
  if (!COMMANDS.includes(command)) refuse(`say which command to run: ${COMMANDS.join(', ')}`);
  checkNode();
  if (needsInstall()) await installOnce();
  const entry = join(root, 'scripts', `${command}.ts`);
  if (!existsSync(entry)) refuse(`${entry} is missing`);
  // Through the channel they notice our end even when we cannot pass on a signal any more, and stop in order.
  const stdio = ['dev', 'test'].includes(command) ? ['inherit', 'inherit', 'inherit', 'ipc'] : 'inherit';
  process.exitCode = await run(process.execPath, ['--import', 'tsx', entry, ...args], { stdio });
}

void main();

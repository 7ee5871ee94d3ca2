/**
 * Runs each suite in the worker's own context instead of one of its own. In a context that is made for a suite every
 * global is looked up through a proxy, and what Node itself throws is no `Error` there.
 */
const vm = require('node:vm');
const { ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');

/** Stands for the worker's own context where Jest asks for one, because Node has no object for it. */
const OWN = vm.createContext({});

const compileFunction = vm.compileFunction;
vm.compileFunction = (source, names, options) =>
  compileFunction(source, names, options?.parsingContext === OWN ? { ...options, parsingContext: undefined } : options);

const listenersNow = () => new Map(process.eventNames().map((event) => [event, new Set(process.rawListeners(event))]));

/** What a suite wants to be told of ends with it; some of that would otherwise wait for the end of the worker. */
function forgetListeners(before) {
  for (const event of process.eventNames()) {
    for (const listener of process.rawListeners(event))
      if (!before.get(event)?.has(listener)) process.removeListener(event, listener);
  }
}

const globalsNow = () =>
  new Map(Reflect.ownKeys(globalThis).map((key) => [key, Reflect.getOwnPropertyDescriptor(globalThis, key)]));

/** Takes back what a suite has changed, so that the next one in this worker begins as the first did. */
function restore(before) {
  for (const key of Reflect.ownKeys(globalThis)) if (!before.has(key)) Reflect.deleteProperty(globalThis, key);
  for (const [key, descriptor] of before)
    if (descriptor.configurable) Reflect.defineProperty(globalThis, key, descriptor);
}

module.exports = class WorkerEnvironment {
  constructor({ projectConfig }) {
    this.before = globalsNow();
    this.listeners = listenersNow();
    this.variables = { ...process.env };
    this.global = globalThis;
    this.moduleMocker = new ModuleMocker(globalThis);
    this.fakeTimers = null;
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  async setup() {}

  async teardown() {
    this.fakeTimersModern.dispose();
    for (const name of Object.keys(process.env)) if (!(name in this.variables)) delete process.env[name];
    Object.assign(process.env, this.variables);
    forgetListeners(this.listeners);
    restore(this.before);
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  getVmContext() {
    return OWN;
  }
};

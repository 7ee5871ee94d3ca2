/** Loads packages once per worker and not once per suite: they are most of what a suite loads. Our own modules stay each suite's own. */
const { default: Runtime } = require('jest-runtime');

const PACKAGES = `${require('node:path').sep}node_modules${require('node:path').sep}`;
/** Keeps one engine runtime per module instance, and each suite has its own. */
const OWN = /[\\/]node_modules[\\/]@temporalio[\\/](worker|testing|core-bridge)[\\/]/;
const isBare = (name) => !name.startsWith('.') && !name.startsWith('/');

module.exports = {
  __esModule: true,
  default: class SharedPackages extends Runtime {
    requireModule(from, name, options, isActual) {
      if (name && isBare(name) && !options?.isInternalModule && !this._resolution.isCoreModule(name)) {
        const path = this._resolution.resolveCjs(from, name);
        if (path.includes(PACKAGES) && !OWN.test(path)) return require(path);
      }
      return super.requireModule(from, name, options, isActual);
    }
  },
};

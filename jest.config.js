/** One transform for every suite; jose ships ES modules only, so it is compiled for Jest's CommonJS runtime. */
const base = {
  testEnvironment: '<rootDir>/test/support/jest/environment.js',
  runtime: '<rootDir>/test/support/jest/runtime.js',
  setupFiles: ['<rootDir>/test/support/property-seed.ts'],
  transform: {
    '^.+\\.(t|j|m)s$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'commonjs' } },
    ],
  },
  transformIgnorePatterns: ['/node_modules/(?!(jose|postal-mime)/)'],
  modulePathIgnorePatterns: ['<rootDir>/dist', '<rootDir>/.signalbox'],
};

const suite = (displayName, folders, more = {}) => ({
  ...base,
  displayName,
  testMatch: folders.map((folder) => `<rootDir>/test/${folder}/**/*.test.ts`),
  ...more,
});

module.exports = {
  testTimeout: 60_000,
  testSequencer: '<rootDir>/test/support/longest-first.js',
  projects: [
    suite('unit', ['unit', 'architecture', 'contract']),
    // Suites that only use the product share one running stack.
    suite('system', ['integration', 'workflow', 'e2e'], {
      globalSetup: '<rootDir>/test/support/global-setup.ts',
      globalTeardown: '<rootDir>/test/support/global-teardown.ts',
    }),
    // Suites that break things start their own.
    suite('fault', ['fault'], { globalSetup: '<rootDir>/test/support/global-build.ts' }),
  ],
};

/** One transform for every suite; jose ships ES modules only, so it is compiled for Jest's CommonJS runtime. */
const base = {
  testEnvironment: 'node',
  transform: {
    '^.+\\.(t|j|m)s$': ['@swc/jest', { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'commonjs' } }],
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
  projects: [
    suite('unit', ['unit', 'architecture', 'contract']),
    suite('system', ['integration', 'workflow', 'e2e', 'fault']),
  ],
};

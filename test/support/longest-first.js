/** The longest suites begin first, so that none of them runs on alone at the end. Jest learns this from earlier runs; a fresh clone has none. */
const { default: Sequencer } = require('@jest/test-sequencer');

/** Longest first, after the one that reads the whole store, while little is in it; the others follow in Jest’s own order. */
const LONG = [
  'threats/06-key-at-rest',
  'fuzz/every-mount',
  'workflow/ahead-of-record',
  'workflow/attempts',
  'fault/revocation',
  'fault/webhooks-survive',
  'fault/limits-under-load',
  'fault/webhooks-under-load',
  'fault/decision-races',
  'dev/supervisor',
  'product/every-resource',
  'threats/01-tenant-isolation',
  'threats/15-nosql-operators',
  'models/resources',
  'webhooks/receivers',
  'workflow/timed',
  'workflow/failed-calls',
  'fault/slow-requests',
  'fault/figures-and-moments',
];

const placeOf = ({ path }) => {
  const place = LONG.findIndex((name) => path.includes(`/${name}.test.`));
  return place < 0 ? LONG.length : place;
};

module.exports = class LongestFirst extends Sequencer {
  sort(tests) {
    return super.sort(tests).toSorted((one, other) => placeOf(one) - placeOf(other));
  }
};

/** Runs once, when the data folder is empty: the user Signalbox connects as, with rights on its own database only. */
db.getSiblingDB('signalbox').createUser({
  user: 'signalbox',
  pwd: process.env.SIGNALBOX_PASSWORD,
  roles: [{ role: 'readWrite', db: 'signalbox' }],
});

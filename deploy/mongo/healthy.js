/** Store health: makes the replica set on first call, and is content once this member takes writes. */
try {
  rs.status();
} catch (error) {
  if (error.codeName === 'NotYetInitialized') {
    rs.initiate({ _id: 'rs0', members: [{ _id: 0, host: 'mongo:27017' }] });
  }
}
// The set's name tells the real server from the one that runs alone while the data folder is prepared.
const { setName, isWritablePrimary } = db.hello();
quit(setName === 'rs0' && isWritablePrimary ? 0 : 1);

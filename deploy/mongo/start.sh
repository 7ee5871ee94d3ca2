#!/usr/bin/env bash
# Starts mongod as a replica set with authentication. Members trust each other by a key file; with one member its only
# purpose is to switch authentication on, so it is derived from the root password and made anew at every start.
set -euo pipefail

keyfile=/data/configdb/keyfile
printf '%s' "keyfile:${MONGO_INITDB_ROOT_PASSWORD}" | sha256sum | cut -c 1-64 > "$keyfile"
chmod 400 "$keyfile"
chown mongodb:mongodb "$keyfile"

exec docker-entrypoint.sh "$@"

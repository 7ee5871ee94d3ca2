#!/bin/sh
# Creates the namespace with its retention and search attributes. Safe to run again.
set -eu

ATTEMPTS_MAX=30

attempt=1
until temporal operator cluster health > /dev/null 2>&1; do
  [ "$attempt" -lt "$ATTEMPTS_MAX" ] || { echo "the engine did not become healthy" >&2; exit 1; }
  attempt=$((attempt + 1))
  sleep 2
done

if temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" > /dev/null 2>&1; then
  temporal operator namespace update --namespace "$TEMPORAL_NAMESPACE" --retention "$RETENTION"
else
  temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention "$RETENTION"
fi

# A new namespace needs a moment until every part of the engine knows it.
set --
for attribute in $SEARCH_ATTRIBUTES; do
  set -- "$@" --name "${attribute%%=*}" --type "${attribute#*=}"
done
attempt=1
until temporal operator search-attribute create --namespace "$TEMPORAL_NAMESPACE" "$@"; do
  [ "$attempt" -lt "$ATTEMPTS_MAX" ] || exit 1
  attempt=$((attempt + 1))
  sleep 2
done

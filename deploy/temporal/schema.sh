#!/bin/sh
# Creates the engine's two databases, or brings them up to this version. Safe to run again; run before each upgrade.
set -eu

schema=/etc/temporal/schema/postgresql/v12

for database in temporal temporal_visibility; do
  temporal-sql-tool --db "$database" create
  temporal-sql-tool --db "$database" setup-schema -v 0.0
done
temporal-sql-tool --db temporal update-schema -d "$schema/temporal/versioned"
temporal-sql-tool --db temporal_visibility update-schema -d "$schema/visibility/versioned"

#!/bin/bash
# Runs the HTTP suite against hookline, HAProxy and nginx (Debian's packages haproxy and nginx-light) and prints the
# table of README.md. Not in CI: the peers are what they are.
#
#   HOOKLINE_BIN=build/hookline tests/integration/http/compare.sh [--failures]
set -euo pipefail

: "${HOOKLINE_BIN:?names the binary}"
HOOKLINE_BIN=$(realpath "$HOOKLINE_BIN")
export HOOKLINE_BIN
for program in haproxy nginx node; do
    command -v "$program" >/dev/null || { echo "compare.sh: $program is missing" >&2; exit 1; }
done
haproxy -v | sed -n 1p
nginx -v 2>&1
exec node "$(dirname "$0")/compare.mjs" "$@"

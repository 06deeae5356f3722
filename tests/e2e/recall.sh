#!/usr/bin/env bash
# Counts, independently of meshprobe, the handlers that STRICT without rewrite spoils, and compares
# the count with what check finds: bash tests/e2e/recall.sh [FOLDER]
#
# Without a folder the workloads of fixtures/live are taken.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
find_meshprobe

python "$root/tests/e2e/recall.py" "$meshprobe" "${1:-$root/fixtures/live}" >"$work/counts" ||
  fail_with "$work/counts" "the two counts differ"
sed 's/^/     /' "$work/counts"
pass "check finds the handlers that an independent count expects, and no others"

#!/usr/bin/env bash
# Counts, independently of meshprobe, the handlers that fail in STRICT mode without rewrite, and compares
# the count with the findings of check: bash tests/e2e/recall.sh [FOLDER]
#
# The default folder is fixtures/live.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
find_meshprobe

python "$root/tests/e2e/recall.py" "$meshprobe" "${1:-$root/fixtures/live}" >"$work/counts" ||
  fail_with "$work/counts" "the two counts differ"
sed 's/^/     /' "$work/counts"
pass "check finds the handlers that an independent count expects, and no others"

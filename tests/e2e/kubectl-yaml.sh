#!/usr/bin/env bash
# Compares rewrites with the YAML parser of kubectl: bash tests/e2e/kubectl-yaml.sh [DOCUMENTS [SEED]]
#
# Rewrites generated documents and all fixtures, among them the regression inputs, undoes the rewrite, and compares
# what kubectl reads at each step. .ci/nightly compares 20,000 documents. tests/it/yaml/kubectl_readings.rs compares
# readings.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
find_meshprobe

documents="${1:-1000}"
seed="${2:-1}"
log="$work/log"

"$MESHPROBE_KUBECTL_YAML" roundtrip "$meshprobe" "$work/trees" "$documents" "$seed" "$root/fixtures" >"$log" 2>&1 ||
  fail_with "$log" 'a rewrite changes other fields than intended, or cannot be undone'
cat "$log"
pass 'only intended fields differ, and undoing restores them'

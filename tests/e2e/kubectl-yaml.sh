#!/usr/bin/env bash
# Compares meshprobe with the YAML parsers of kubectl and kustomize: bash tests/e2e/kubectl-yaml.sh [DOCUMENTS [SEED]]
#
# Rewrites generated documents and all fixtures, undoes the rewrite, and compares what kubectl reads at each step.
# Then compares the readings of fixtures and of generated texts. Needs Go.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
find_meshprobe

documents="${1:-20000}"
seed="${2:-1}"
log="$work/log"

(cd "$root/tests/kubectl_yaml" && GOFLAGS=-mod=readonly CGO_ENABLED=0 go build -o "$work/kubectl_yaml" .) >"$log" 2>&1 ||
  fail_with "$log" 'tests/kubectl_yaml does not build'

"$work/kubectl_yaml" roundtrip "$meshprobe" "$work/trees" "$documents" "$seed" "$root/fixtures" >"$log" 2>&1 ||
  fail_with "$log" 'a rewrite changes more than it should, or cannot be undone'
cat "$log"
pass 'only intended fields differ, and undoing restores them'

cd "$root"
MESHPROBE_KUBECTL_YAML="$work/kubectl_yaml" cargo test --locked --profile "$profile" --test it kubectl_readings -- --ignored --nocapture \
  >"$log" 2>&1 || fail_with "$log" 'kubectl reads a document differently'
grep ' texts, ' "$log"
pass 'what kubectl reads is read as the same value'

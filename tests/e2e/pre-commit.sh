#!/usr/bin/env bash
# Tests the hooks, which pre-commit installs from a commit of this tree.
#
# For hooks of language rust, pre-commit builds without Cargo.lock and in its own
# folders. To save time, the build shares the intermediate artifacts of
# the release build, and stays offline if the cache of cargo is sufficient.
# The hooks of language python install the wheel of this tree from a folder, as users
# install that of the release from PyPI.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

export CARGO_BUILD_BUILD_DIR="$target"
export CARGO_TARGET_DIR="$work/target"
export PRE_COMMIT_HOME="$work/store"

(cd "$root" && pre-commit validate-manifest .pre-commit-hooks.yaml)
hooks="$work/hooks"
snapshot_repository "$hooks"
if (cd "$hooks" && rm -f Cargo.lock && cargo generate-lockfile --offline --quiet) 2>/dev/null; then
  export CARGO_NET_OFFLINE=true
fi
git -C "$hooks" checkout --quiet -- . 2>/dev/null

find_wheel
export PIP_FIND_LINKS="$wheels" PIP_DISABLE_PIP_VERSION_CHECK=1

# pre-commit builds the hooks of language rust with `cargo install`, in a folder of its own and with the profile
# `release`: that takes minutes. .ci/nightly does it.
if [ "$profile" != release ]; then
  find_meshprobe
  export MESHPROBE_BIN="$meshprobe" MESHPROBE_PROFILE="$profile" MESHPROBE_PREBUILT_LOG="$work/installs"
  export PATH="$root/.ci/prebuilt:$PATH"
fi

# new_repository FOLDER ANNOTATIONS: creates a repository with a namespace, a policy and one workload, whose
# pods have these annotations.
new_repository() {
  mkdir -p "$1"
  cat >"$1/mesh.yaml" <<'YAML'
apiVersion: v1
kind: Namespace
metadata:
  name: shop
  labels:
    istio-injection: enabled
---
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata:
  name: default
  namespace: shop
spec:
  mtls:
    mode: STRICT
YAML
  cat >"$1/web.yaml" <<YAML
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
$2
    spec:
      containers:
        - name: web
          image: registry.example/web:1.0.0
          readinessProbe:
            httpGet:
              path: /healthz
              port: 8080
YAML
  commit_all "$1"
}

# 1. try-repo with a bad manifest. Only the workload is "changed"; the run also reads
# the policy that causes the finding.
new_repository "$work/bad" '      annotations:
        sidecar.istio.io/rewriteAppHTTPProbers: "false"'
cd "$work/bad"
for hook in meshprobe-check meshprobe-check-src; do
  status 1 "$work/bad.log" pre-commit try-repo "$hooks" "$hook" --files web.yaml --verbose
  has "$work/bad.log" 'strict-probe-not-rewritten'
  has "$work/bad.log" 'web.yaml'
  has "$work/bad.log" '- exit code: 1'
  pass "$hook fails for a bad manifest and reports the finding"
done
[ "$profile" = release ] || has "$work/installs" 'install --bins --root'

# 2. Both hooks from a configuration like that of users, in a clean repository.
new_repository "$work/clean" ''
cd "$work/clean"
cat >.pre-commit-config.yaml <<YAML
repos:
  - repo: $hooks
    rev: $(git -C "$hooks" rev-parse HEAD)
    hooks:
      - id: meshprobe-check
      - id: meshprobe-diff
      - id: meshprobe-rewrite
        stages: [manual]
YAML
commit_all "$work/clean"
status 0 "$work/clean.log" pre-commit run meshprobe-check --all-files --verbose
has "$work/clean.log" 'Passed'
git diff --exit-code || fail "the check changed files"
pass "meshprobe-check passes in a clean repository that contains its own configuration"

cp "$work/bad/web.yaml" web.yaml
git add web.yaml
status 1 "$work/diff.log" pre-commit run meshprobe-diff --verbose
has "$work/diff.log" 'regression: '
git checkout --quiet HEAD -- web.yaml
cp web.yaml more.yaml
sed -i.bak 's/name: web$/name: more/' more.yaml
rm more.yaml.bak
git add more.yaml
status 0 "$work/diff.log" pre-commit run meshprobe-diff --verbose
git rm -q --cached more.yaml
rm more.yaml
pass "meshprobe-diff compares the staged files with HEAD"

# Hundreds of files are checked in one run: the facts are read once, and nothing is reported twice.
mkdir many
for number in $(seq 1 300); do
  sed "s/name: web$/name: web-$number/" web.yaml >"many/$number.yaml"
done
git add many
status 0 "$work/many.log" pre-commit run meshprobe-check --verbose
[ "$(grep -c ' in 300 files (300 workloads, ' "$work/many.log")" = 1 ] || fail_with "$work/many.log" "the files were not checked in one run"
git rm -rq --cached many
rm -r many
pass "meshprobe-check checks 300 files in one run"

status 1 "$work/rewrite.log" pre-commit run meshprobe-rewrite --all-files --verbose --hook-stage manual
has "$work/rewrite.log" 'files were modified by this hook'
has web.yaml '/app-health/web/readyz'
has web.yaml 'ISTIO_KUBE_APP_PROBERS'
[ "$(git diff --name-only)" = web.yaml ] || fail "more than the workload was changed"
git commit --quiet --all --message 'rewritten'
status 0 "$work/rewrite.log" pre-commit run meshprobe-rewrite --all-files --verbose --hook-stage manual
git diff --exit-code || fail "a second rewrite changed something"
pass "meshprobe-rewrite writes once; a second run changes nothing"

# 3. File names that are options, workflow commands, or shell syntax.
# shellcheck source=odd-names.bash
source "$root/tests/e2e/odd-names.bash"
new_repository "$work/hostile" ''
hostile_names "$work/hostile"
cp "$work/clean/.pre-commit-config.yaml" "$work/hostile/"
commit_all "$work/hostile"
cd "$work/hostile"
status 1 "$work/hostile.log" env GITHUB_ACTIONS=true pre-commit run meshprobe-check --all-files --verbose
has "$work/hostile.log" " of $((${#hostile[@]} + 4)) files ($((${#hostile[@]} + 2)) workloads, "
no_commands "$work/hostile.log"
git diff --exit-code || fail "a file name was used as an option"
pass "meshprobe-check does not use file names as options or commands"

for number in "${!hostile[@]}"; do
  odd_workload "hostile-$((number + 1))" | sed 's/, sidecar.istio.io[^}]*//' >"./${hostile[$number]}"
done
git commit --quiet --all --message 'to be rewritten'
status 1 "$work/hostile.log" env GITHUB_ACTIONS=true pre-commit run meshprobe-rewrite --all-files --verbose --hook-stage manual
git diff -z --name-only | sort -z >"$work/changed"
printf '%s\0' "${hostile[@]}" web.yaml | sort -z | cmp - "$work/changed" || fail_with "$work/changed" "other files were rewritten"
no_commands "$work/hostile.log"
not_run .
pass "meshprobe-rewrite does not use file names as options or commands"

#!/usr/bin/env bash
# Validates the output of `rewrite` with kubeconform -strict, for the demo and goldens of the injector.
# kube-score must report the same before and after the rewrite.
# The schemas come from the Python package kubernetes-validate; nothing is downloaded.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
find_meshprobe

release=v1.33.0

python "$root/tests/e2e/schemas.py" "$release" "$work/schemas"

# validate FOLDER: skips kinds for which Kubernetes itself has no schema.
validate() {
  kubeconform -strict -summary -ignore-missing-schemas -kubernetes-version "${release#v}" \
    -schema-location "$work/schemas/{{ .ResourceKind }}{{ .KindSuffix }}.json" "$1"
}

# Tests the validator itself: it finds a field that does not exist.
mkdir "$work/wrong"
sed 's/Probe:/Prob:/' "$root/fixtures/istio/rewrite/tcp-int/input.yaml" >"$work/wrong/input.yaml"
status 1 "$work/wrong.log" validate "$work/wrong"
has "$work/wrong.log" Prob
pass "kubeconform rejects a field that does not exist"

# score FOLDER: prints the sorted output of kube-score with its default checks. Runs it per file, because a file that
# it cannot read (a port that is too large) would hide the others. Its status is not 0 if it prints anything.
score() {
  (cd "$1" && find . -name '*.yaml' -print0 |
    xargs -0 -n 1 kube-score score --output-format ci 2>/dev/null || true) | sort
}

# rewritten NAME OPTION...: rewrites $work/NAME to $work/NAME.out and validates it. Something
# must have changed, and valid files must stay valid.
rewritten() {
  local name="$1" code=0
  shift
  status 0 "$work/$name.before.log" validate "$work/$name"
  (cd "$work" && cp -RL "$name" "$name.out" && "$meshprobe" rewrite --isolated "$@" --write "$name.out") >"$work/$name.log" 2>&1 || code=$?
  [ "$code" -le 1 ] || fail_with "$work/$name.log" "exit status $code: rewrite --write $name.out"
  ! diff -rq "$work/$name" "$work/$name.out" >"$work/$name.diff" || fail "$name: nothing was rewritten"
  status 0 "$work/$name.after.log" validate "$work/$name.out"
  pass "$name: $(tail -n 1 "$work/$name.after.log"); $(wc -l <"$work/$name.diff") files rewritten"

  score "$work/$name" >"$work/$name.score"
  score "$work/$name.out" >"$work/$name.out.score"
  grep -q '^\[CRITICAL\]' "$work/$name.score" || fail_with "$work/$name.score" "$name: kube-score reports nothing"
  comm -13 "$work/$name.score" "$work/$name.out.score" >"$work/$name.worse"
  [ ! -s "$work/$name.worse" ] || fail_with "$work/$name.worse" "$name: kube-score reports this for the rewritten manifests only"
  pass "$name: kube-score reports the same $(grep -c . "$work/$name.score") findings as before"
}

cp -R "$root/fixtures/demo" "$work/demo"
# A kustomization is not an object of the API.
find "$work/demo" -name kustomization.yaml -delete
rewritten demo --mesh-version 1.28

# Every golden that is valid before the rewrite: at least 20.
mkdir "$work/goldens"
for folder in "$root"/fixtures/istio/rewrite/*/; do
  name="$(basename "$folder")"
  if validate "$folder/input.yaml" >/dev/null 2>&1; then
    cp "$folder/input.yaml" "$work/goldens/$name.yaml"
  fi
done
rewritten goldens --mesh-version 1.28 --assume injection=all
count="$(wc -l <"$work/goldens.diff")"
[ "$count" -ge 20 ] || fail "only $count goldens were rewritten"

#!/usr/bin/env bash
# Reports for machines, held to the schemas of those who read them.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
find_meshprobe
schemas="$root/.tools/schemas"
formats=(json sarif gitlab junit github summary)

# The schema of SARIF holds an expression that only Python's dialect takes.
valid_sarif() {
  check-jsonschema --quiet --regex-variant python --schemafile "$schemas/sarif-2.1.0.json" "$@"
}

valid_json() {
  check-jsonschema --quiet --schemafile "$root/docs/schema/check-v1.json" "$@"
}

valid_gitlab() {
  check-jsonschema --quiet --schemafile "$root/tests/e2e/gitlab-code-quality.schema.json" "$@"
}

valid_junit() {
  # Its status is the number of faults.
  xmlschema-validate --schema "$schemas/junit.xsd" "$@" || return 1
}

# 1. Every tree of fixtures: the rules, broken input, overlays, silenced findings, nothing at all.
mkdir -p "$work/odd/träger & <co>, 5%" "$work/empty" "$work/reports"
printf 'apiVersion: v1\nkind: Pod\nmetadata: [a&b<c>"|`\n' >"$work/odd/träger & <co>, 5%/a: b.yaml"
printf 'apiVersion: v1\nkind: Pod\n\xff\n' >"$work/odd/not-utf8.yaml"
printf '\xef\xbb\xbfapiVersion: v1\r\nkind: Pod\r\nmetadata: {name: [}\r\n' >"$work/odd/bom.yaml"
ln -s nowhere "$work/odd/dangling.yaml"
cp -R "$root/fixtures/demo" "$work/silenced"
"$meshprobe" check --quiet --isolated --add-ignore 'known <since> "2024"' "$work/silenced" >"$work/log" 2>&1 ||
  fail_with "$work/log" "silencing"

trees=("$root/fixtures/rules" "$root/fixtures/demo" "$root/fixtures/gitops" "$root/fixtures/kustomize"
  "$root/fixtures/istio" "$work/odd" "$work/silenced" "$work/empty")
for tree in "${trees[@]}"; do
  name="$(basename "$tree")"
  arguments=(check --isolated --quiet --statistics --fail-on never --report-root "$tree")
  for format in "${formats[@]}"; do
    arguments+=(--report "$format=$work/reports/$name.$format")
  done
  code=0
  (cd "$tree" && "$meshprobe" "${arguments[@]}" >"$work/log" 2>&1) || code=$?
  # A link that leads nowhere is met in a folder; it is no failure.
  [ "$code" = 0 ] || fail_with "$work/log" "$name: exit status $code"
  for format in "${formats[@]}"; do
    [ -e "$work/reports/$name.$format" ] || fail "$name: there is no report $format"
  done
done
valid_sarif "$work"/reports/*.sarif
valid_json "$work"/reports/*.json
valid_gitlab "$work"/reports/*.gitlab
valid_junit "$work"/reports/*.junit >"$work/log" || fail_with "$work/log" "JUnit"
count="$(python3 - "$work"/reports/*.sarif <<'PYTHON'
import json, sys
print(sum(len(json.load(open(path, encoding="utf-8"))["runs"][0]["results"]) for path in sys.argv[1:]))
PYTHON
)"
[ "$count" -gt 200 ] || fail "only $count findings in all trees: too few to mean anything"
pass "reports: $count findings of ${#trees[@]} trees, valid as SARIF, JSON, Code Quality and JUnit"

# 2. The schemas find faults: each report with one thing wrong is refused.
broken() {
  local format="$1" from="$2" to="$3"
  sed "s|$from|$to|" "$work/reports/demo.$format" >"$work/broken.$format"
  ! cmp -s "$work/reports/demo.$format" "$work/broken.$format" || fail "nothing was broken in $format"
  status 1 "$work/log" "valid_$format" "$work/broken.$format"
}
broken sarif '"startLine": [0-9]*' '"startLine": 0'
broken sarif '"level": "error"' '"level": "fatal"'
broken json '"severity": "error"' '"severity": "fatal"'
broken json '"certainty":' '"sureness":'
broken gitlab '"critical"' '"fatal"'
broken junit '<testcase ' '<testcase colour="red" '
pass "schemas: faults are found"

# 3. A summary and annotations of everything stay within the limits of a job.
for name in rules demo odd; do
  size="$(wc -c <"$work/reports/$name.summary")"
  [ "$size" -lt 1048576 ] || fail "$name: a summary of $size bytes"
  for type in error warning notice; do
    shown="$(grep -c "^::$type " "$work/reports/$name.github" || true)"
    [ "$shown" -le 10 ] || fail "$name: $shown annotations of type $type"
  done
done
has "$work/reports/rules.github" ' more errors without annotation'
pass "limits: annotations and summary"

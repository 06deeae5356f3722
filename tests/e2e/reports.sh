#!/usr/bin/env bash
# Validates reports for programs against the schemas of the programs that read them.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
find_meshprobe
formats=(json sarif gitlab junit github summary)

# 1. Trees with all rules, broken input, overlays, suppressed findings, or no files.
mkdir -p "$work/odd/träger & <co>, 5%" "$work/empty" "$work/reports"
printf 'a: b\n' >"$work/empty/values.yaml"
cp -R "$root/fixtures/krm" "$work/rendered"
# shellcheck source=odd-names.bash
source "$root/tests/e2e/odd-names.bash"
odd_names "$work/names"
printf 'apiVersion: v1\nkind: Pod\nmetadata: [a&b<c>"|`\n' >"$work/odd/träger & <co>, 5%/a: b.yaml"
printf 'apiVersion: v1\nkind: Pod\n\xff\n' >"$work/odd/not-utf8.yaml"
printf '\xef\xbb\xbfapiVersion: v1\r\nkind: Pod\r\nmetadata: {name: [}\r\n' >"$work/odd/bom.yaml"
ln -s nowhere "$work/odd/dangling.yaml"
cp -R "$root/fixtures/demo" "$work/suppressed"
"$meshprobe" check --quiet --isolated --add-ignore 'known <since> "2024"' "$work/suppressed" >"$work/log" 2>&1 ||
  fail_with "$work/log" "the findings were not suppressed"

trees=("$root/fixtures/rules" "$root/fixtures/demo" "$root/fixtures/gitops" "$root/fixtures/kustomize"
  "$root/fixtures/istio" "$root/fixtures/osm" "$root/fixtures/kuma" "$root/fixtures/consul" "$work/odd" "$work/names"
  "$work/suppressed" "$work/empty" "$work/rendered" "$root/fixtures/helm")

# options TREE: prints the options that the run of a tree needs.
options() {
  case "$(basename "$1")" in
    rendered) printf '%s\n' --kustomize=production ;;
    helm) printf '%s\n' --helm=shop --values=production.yaml ;;
    *) return 0 ;;
  esac
  printf '%s\n' --assume=mtls=STRICT --assume=injection=all --override=rewrite=false
}

for tree in "${trees[@]}"; do
  name="$(basename "$tree")"
  mapfile -t options < <(options "$tree")
  arguments=(check --isolated --no-context --quiet --statistics --fail-on never --report-root "$tree" "${options[@]}")
  for format in "${formats[@]}"; do
    arguments+=(--report "$format=$work/reports/$name.$format")
  done
  code=0
  (cd "$tree" && "$meshprobe" "${arguments[@]}" >"$work/log" 2>&1) || code=$?
  # A dangling link in a folder is not a failure.
  [ "$code" = 0 ] || fail_with "$work/log" "$name: exit status $code"
  code=0
  (cd "$tree" && "$meshprobe" predict --isolated --quiet --output-format json "${options[@]}") \
    >"$work/reports/$name.predict" 2>"$work/log" || code=$?
  # Status 1 means that a document is not YAML.
  [ "$code" -le 1 ] || fail_with "$work/log" "$name: predict failed"
  code=0
  (cd "$tree" && "$meshprobe" diff --isolated --quiet --output-format json --to rewrite=true "${options[@]}") \
    >"$work/reports/$name.diff" 2>"$work/log" || code=$?
  [ "$code" -le 1 ] || fail_with "$work/log" "$name: diff failed"
  for format in "${formats[@]}"; do
    [ -e "$work/reports/$name.$format" ] || fail "$name: the report $format is missing"
  done
done
"$meshprobe" rule --output-format json >"$work/reports/demo.rules"
explain=(explain --isolated --no-context --quiet --output-format json 'connection reset by peer' .)
(cd "$root/fixtures/demo" && "$meshprobe" "${explain[@]}") >"$work/reports/demo.explain"
"$meshprobe" explain --output-format json >"$work/reports/all.explain"
cp "$root/docs/data/matrix.json" "$work/reports/demo.matrix"
status 0 "$work/log" python "$root/tests/e2e/report_schemas.py" "$work/reports" "$tools_schemas"
pass "schemas: $(cat "$work/log")"
count="$(python3 - "$work"/reports/*.sarif <<'PYTHON'
import json
import sys

print(sum(len(json.load(open(path, encoding="utf-8"))["runs"][0]["results"]) for path in sys.argv[1:]))
PYTHON
)"
[ "$count" -gt 200 ] || fail "only $count findings in all trees; expected more than 200"
pass "reports: $count findings of ${#trees[@]} trees"
for name in rendered helm; do
  for format in json predict; do
    has "$work/reports/$name.$format" '"rendered": {'
  done
done
pass "reports: rendered manifests are included, in check and predict"

# 2. The summary and the annotations stay within the limits of a job.
for name in rules demo odd; do
  size="$(wc -c <"$work/reports/$name.summary")"
  [ "$size" -lt 1048576 ] || fail "$name: the summary has $size bytes, expected less than 1 MiB"
  for type in error warning notice; do
    shown="$(grep -c "^::$type " "$work/reports/$name.github" || true)"
    [ "$shown" -le 10 ] || fail "$name: $shown annotations of type $type"
  done
done
has "$work/reports/rules.github" ' more errors without annotation'
pass "annotations and summary are within the limits"

# 3. SARIF agrees with JSON: the same locations, and fixes with the same result. Paths are relative to
# the root, for any working directory.
for tree in "$root/fixtures/rules" "$root/fixtures/demo" "$root/fixtures/gitops" "$work/names" "$work/rendered" \
  "$root/fixtures/helm"; do
  mapfile -t options < <(options "$tree")
  counts="$(cd "$tree" && python3 "$root/tests/e2e/reports.py" .. "$meshprobe" "${options[@]}")" ||
    fail "$(basename "$tree"): SARIF and JSON differ"
  read -r count regions fixes <<<"$counts"
  [ "$count" -gt 0 ] && [ "$regions" -ge "$count" ] || fail "$(basename "$tree"): $counts"
  pass "sarif: $(basename "$tree"): $count findings, $regions regions, $fixes fixes"
done

# 4. An annotation contains the exact file name, with all its characters.
for file in "$work"/names/*.yaml "$work"/names/*/*.yaml; do
  (cd "$work/names" && "$meshprobe" check --isolated --fail-on never --context mesh.yaml --output-format github \
    --report-root . "$file")
done >"$work/annotations"
python3 - "$work" <<'PYTHON'
import os
import re
import sys
import urllib.parse

folder = os.path.join(sys.argv[1], "names")
text = open(os.path.join(sys.argv[1], "annotations"), encoding="utf-8", newline="").read()
commands = [line for line in text.split("\n") if line.startswith("::")]
assert len(commands) == 48, len(commands)
named = set()
for command in commands:
    properties, message = re.fullmatch(r"::error ([^\r]*?)::([^\r]*)", command).groups()
    pairs = dict(pair.split("=", 1) for pair in properties.split(","))
    assert list(pairs) == ["file", "line", "endLine", "col", "endColumn", "title"], pairs
    path = re.sub("%(25|0D|0A|3A|2C)", lambda found: urllib.parse.unquote(found[0]), pairs["file"])
    # Control characters other than line breaks and tabs never reach the log.
    named.add(path.replace("\\u{1b}", "\x1b"))
files = {os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names}
assert named == files - {"mesh.yaml"}, named ^ files
PYTHON
pass "github: annotations contain the exact names of files with special characters"

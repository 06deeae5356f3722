#!/usr/bin/env bash
# Opens HTML reports in Chromium: filters, keyboard, accessibility, print, a strict Content-Security-Policy, and the report of
# 1,000 workloads. Pictures for people are written to $MESHPROBE_PICTURES, if it is set.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
# shellcheck source=odd-names.bash
source "$root/tests/e2e/odd-names.bash"
find_meshprobe
browser="$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)"
if [ -z "$browser" ] || ! command -v chromedriver >/dev/null; then
  fail "Chromium or chromedriver is not installed; on Debian, run \`apt-get install chromium chromium-driver\`"
fi

# 1. The script and the style.
assets="$root/crates/report/src/html/assets"
status 0 "$work/log" oxlint --deny-warnings --deny correctness --deny suspicious --deny perf "$assets/report.js"
status 0 "$work/log" python "$root/tests/e2e/html_assets.py" "$root/crates/report/src/html"
pass "html: the script and the style are clean"

# 2. The reports, each with the JSON report of the same run.
reports="$work/reports"
mkdir "$reports"
# report NAME TREE ARGUMENTS...: writes both reports of a run in a tree.
report() {
  local name="$1" tree="$2" code=0
  shift 2
  (cd "$tree" && "$meshprobe" "$@" --quiet --report "html=$reports/$name.html" --report "json=$reports/$name.json") \
    >"$work/log" 2>&1 || code=$?
  [ "$code" -le 1 ] || fail_with "$work/log" "$name: exit status $code"
}
odd_names "$work/odd"
python "$root/tests/e2e/html_tree.py" "$work/large" 1000
report platform "$root/fixtures/platform" check .
report demo "$root/fixtures/demo" check .
report rules "$root/fixtures/rules" check --no-context .
report odd "$work/odd" check --isolated .
report large "$work/large" check --isolated .
report predict "$root/fixtures/platform" predict .
report diff "$root/fixtures/platform" diff . --override rewrite=false --from mtls=PERMISSIVE --to mtls=STRICT

# 3. The reports in the browser.
pictures="${MESHPROBE_PICTURES:-$work/pictures}"
mkdir -p "$pictures"
python "$root/tests/e2e/html_report.py" "$browser" "$reports" "$tools_axe/axe.min.js" "$pictures" || fail "the browser found faults"

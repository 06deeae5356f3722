#!/usr/bin/env bash
# The composite action: its report script on a made-up report, its shell script
# with a made-up tool, then the whole of it in act with the real binary.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
find_meshprobe

report() {
  (cd "$work" && GITHUB_WORKSPACE="$work" python3 "$root/action/report.py" "$@")
}

# 1. Escaping, order and the limit of ten.
python3 - "$work/report.json" <<'PYTHON'
import json, sys

def finding(**changes):
    return {"rule": "some-rule", "severity": "error", "certainty": "known", "message": "plain", "path": "a.yaml",
            "line": 3, "column": 5, "end_line": 3, "end_column": 9, "related": [], "assumptions": [], **changes}

findings = [
    finding(severity="note", message="a note"),
    finding(certainty="assumed", message="less sure"),
    finding(path="odd,name: 5%.yaml", message="100% sure\r\nsecond::line",
            related=[{"path": "pa.yaml", "line": 7, "column": 1, "message": "STRICT"}]),
    finding(message="two lines", end_line=4),
    finding(message="rendered", line=None, column=None, end_line=None, end_column=None),
    finding(message="silenced", suppressed={"reason": "known"}),
    *(finding(severity="warning", message=f"warning {n}", line=n, end_line=n) for n in range(1, 13)),
]
json.dump({"version": 1, "findings": findings, "summary": {}}, open(sys.argv[1], "w"))
PYTHON
report annotations "$work/report.json" >"$work/annotations"
diff -u - "$work/annotations" <<'EXPECTED' || fail "annotations are not as expected"
::error file=odd%2Cname%3A 5%25.yaml,line=3,endLine=3,col=5,endColumn=9,title=meshprobe%3A some-rule::100%25 sure%0D%0Asecond::line%0Apa.yaml:7:1: STRICT
::error file=a.yaml,line=3,endLine=4,title=meshprobe%3A some-rule::two lines
::error file=a.yaml,title=meshprobe%3A some-rule::rendered
::error file=a.yaml,line=3,endLine=3,col=5,endColumn=9,title=meshprobe%3A some-rule::less sure
::warning file=a.yaml,line=1,endLine=1,col=5,endColumn=9,title=meshprobe%3A some-rule::warning 1
::warning file=a.yaml,line=2,endLine=2,col=5,endColumn=9,title=meshprobe%3A some-rule::warning 2
::warning file=a.yaml,line=3,endLine=3,col=5,endColumn=9,title=meshprobe%3A some-rule::warning 3
::warning file=a.yaml,line=4,endLine=4,col=5,endColumn=9,title=meshprobe%3A some-rule::warning 4
::warning file=a.yaml,line=5,endLine=5,col=5,endColumn=9,title=meshprobe%3A some-rule::warning 5
::warning file=a.yaml,line=6,endLine=6,col=5,endColumn=9,title=meshprobe%3A some-rule::warning 6
::warning file=a.yaml,line=7,endLine=7,col=5,endColumn=9,title=meshprobe%3A some-rule::warning 7
::warning file=a.yaml,line=8,endLine=8,col=5,endColumn=9,title=meshprobe%3A some-rule::warning 8
::warning file=a.yaml,line=9,endLine=9,col=5,endColumn=9,title=meshprobe%3A some-rule::warning 9
::warning file=a.yaml,line=10,endLine=10,col=5,endColumn=9,title=meshprobe%3A some-rule::warning 10
2 more warnings without annotation, see above
::notice file=a.yaml,line=3,endLine=3,col=5,endColumn=9,title=meshprobe%3A some-rule::a note
EXPECTED
report log "$work/report.json" >"$work/log"
has "$work/log" 'odd,name: 5%.yaml:3:5: error[some-rule] 100% sure second::line'
has "$work/log" '    pa.yaml:7:1: STRICT'
has "$work/log" '4 errors, 12 warnings, 1 note (1 suppressed)'
lacks "$work/log" silenced
[ "$(report outputs "$work/report.json")" = $'findings=17\nerrors=4' ] || fail "outputs"
status 1 "$work/log" report outputs /dev/null
pass "report: escaping, order, limit, counts"

# 2. The step's script: arguments arrive as given, exit codes as they are.
mkdir -p "$work/fake" "$work/space/sub folder"
cat >"$work/fake/meshprobe" <<'FAKE'
#!/usr/bin/env bash
printf '<%s>' "$@" >"$FAKE_SEEN"
printf '%s' "$FAKE_STDOUT"
printf '::error::not a command\n' >&2
exit "$FAKE_CODE"
FAKE
chmod +x "$work/fake/meshprobe"

# A cargo that "builds" the fake tool into the target folder it is given.
cat >"$work/fake/cargo" <<'FAKE'
#!/usr/bin/env bash
[ "${*: -2:1}" = --target-dir ] || exit 101
mkdir -p "${*: -1}/release"
cp "$(dirname "$0")/meshprobe" "${*: -1}/release/meshprobe"
FAKE
chmod +x "$work/fake/cargo"

# step CODE STDOUT [VERSION]: runs the script with the fake tool.
step() {
  : >"$work/outputs"
  status "$1" "$work/log" env PATH="$work/fake:$PATH" FAKE_SEEN="$work/seen" FAKE_CODE="$1" FAKE_STDOUT="$2" \
    GITHUB_WORKSPACE="$work/space" GITHUB_OUTPUT="$work/outputs" RUNNER_TEMP="$work" \
    INPUT_PATHS=$'apps\n  two words/$(touch x)\n' INPUT_ARGS="--assume 'mtls=STRICT' --ignore \"a b\"" \
    INPUT_VERSION="${3:-path}" INPUT_FAIL_ON=error INPUT_WORKING_DIRECTORY='sub folder' INPUT_ANNOTATIONS=true \
    bash "$root/action/run.sh"
}

one='{"version":1,"findings":[{"rule":"r","severity":"error","message":"m","path":"a.yaml","line":1}],"summary":{}}'
step 1 "$one"
# shellcheck disable=SC2016 # the command substitution must arrive as text
has "$work/seen" '<check><--output-format><json><--fail-on><error><--assume><mtls=STRICT><--ignore><a b><--><apps><two words/$(touch x)>'
has "$work/log" '::error file=sub folder/a.yaml,line=1,title=meshprobe%3A r::m'
[ "$(cat "$work/outputs")" = $'findings=1\nerrors=1\nexit-code=1' ] || fail_with "$work/outputs" "outputs of a run with findings"
# What the tool says is not taken for a command: it stands between the marks.
awk '/^::stop-commands::/ { quiet = 1; mark = "::" substr($0, 18) "::" }
     $0 == mark { quiet = 0 }
     /not a command/ && !quiet { exit 1 }' "$work/log" || fail_with "$work/log" "stderr could give commands"
step 0 '{"version":1,"findings":[],"summary":{}}'
[ "$(cat "$work/outputs")" = $'findings=0\nerrors=0\nexit-code=0' ] || fail_with "$work/outputs" "outputs of a clean run"
step 2 ''
has "$work/log" '::error title=meshprobe::meshprobe ended with exit code 2'
[ "$(cat "$work/outputs")" = 'exit-code=2' ] || fail_with "$work/outputs" "outputs of a failed run"
step 1 "$one" source
[ -x "$work/meshprobe-target/release/meshprobe" ] || fail "the binary was not built in the runner's temporary folder"
step 2 '' 1.2.3
has "$work/log" '::error title=meshprobe::version must be'
pass "step: arguments, exit codes, outputs, silenced commands"

# 3. The action in act. act copies the tree without what Git ignores, so the
# binary comes from PATH; without a checkout step it would not copy at all.
repository="$work/repository"
mkdir -p "$repository/.github/workflows" "$work/bin"
ln -s "$meshprobe" "$work/bin/meshprobe"
cp -R "$root/action.yml" "$root/action" "$repository/"
cp -R "$root/fixtures/demo" "$repository/demo"
cat >"$repository/.github/workflows/test.yml" <<'WORKFLOW'
name: test
on: [push]
permissions: {}
jobs:
  reports:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
        with: {persist-credentials: false}
      - name: never fails
        id: never
        uses: ./
        with: {paths: demo, version: path, fail-on: never}
      - name: outputs
        shell: bash
        env:
          FINDINGS: ${{ steps.never.outputs.findings }}
          ERRORS: ${{ steps.never.outputs.errors }}
          CODE: ${{ steps.never.outputs.exit-code }}
        run: |
          echo "findings=$FINDINGS errors=$ERRORS code=$CODE"
          test "$ERRORS" = 3
          test "$FINDINGS" -ge 3
          test "$CODE" = 0
  fails:
    runs-on: ubuntu-latest
    needs: reports
    steps:
      - uses: actions/checkout@v4
        with: {persist-credentials: false}
      - name: must fail
        uses: ./
        with: {paths: demo, version: path, fail-on: error}
WORKFLOW
commit_all "$repository"

in_act() {
  (cd "$repository" && PATH="$work/bin:$PATH" XDG_CONFIG_HOME="$work/config" XDG_CACHE_HOME="$work/cache" \
    act push -P ubuntu-latest=-self-hosted --no-cache-server --action-offline-mode "$@")
}

status 0 "$work/act.log" in_act --job reports
has "$work/act.log" '::error file=demo/apps/payments/deployment.yaml,line='
has "$work/act.log" '::error file=demo/apps/cache/statefulset.yaml,line='
has "$work/act.log" 'title=meshprobe%3A strict-probe-not-rewritten::'
has "$work/act.log" 'title=meshprobe%3A tcp-probe-always-passes::'
lacks "$work/act.log" 'file=demo/apps/storefront'
status 1 "$work/act.log" in_act
has "$work/act.log" 'Failure - Main must fail'
pass "act: annotations on the lines, outputs, and a job that fails"

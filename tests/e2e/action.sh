#!/usr/bin/env bash
# Tests the composite action: first its script with a fake tool and a fake release,
# then the complete action in act with the real binary.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
find_meshprobe

# 1. The step's script passes arguments and exit codes on unchanged.
mkdir -p "$work/fake" "$work/space/sub folder"
cat >"$work/fake/meshprobe" <<'FAKE'
#!/usr/bin/env bash
printf '<%s>' "$@" >"$FAKE_SEEN"
for word in "$@"; do
  case "$word" in
    json=*) if [ -n "$FAKE_REPORT" ]; then printf '%s\n' "$FAKE_REPORT" >"${word#*=}"; fi ;;
    github=*) printf '::error file=a.yaml::an annotation\n' >"${word#*=}" ;;
    sarif=*) if [ -n "$FAKE_REPORT" ]; then printf '{}\n' >"${word#*=}"; fi ;;
    summary=*) printf 'a summary\n' >>"${word#*=}" ;;
    markdown=*) printf '<!-- meshprobe diff -->\na comment\n' >"${word#*=}" ;;
  esac
done
printf '::error::not a command\n'
printf '::error::not a command either\n' >&2
exit "$FAKE_CODE"
FAKE
chmod +x "$work/fake/meshprobe"

# A fake cargo, which "builds" the fake tool into the given target folder.
cat >"$work/fake/cargo" <<'FAKE'
#!/usr/bin/env bash
[ "${*: -2:1}" = --target-dir ] || exit 101
mkdir -p "${*: -1}/release"
cp "$(dirname "$0")/meshprobe" "${*: -1}/release/meshprobe"
FAKE

# A fake curl, which "downloads" from a folder.
cat >"$work/fake/curl" <<'FAKE'
#!/usr/bin/env bash
for word in "$@"; do
  case "${previous:-}" in --output) to="$word" ;; esac
  previous="$word"
done
printf '%s\n' "$word" >>"$FAKE_URLS"
[ -z "${FAKE_OFFLINE:-}" ] || exit 6
case "$*" in *"--proto =https"*"--write-out %{http_code}"*) ;; *) exit 101 ;; esac
# As curl does with --fail, exits with 22 for an error of the server.
answer() {
  printf '%s' "$1"
  [ "$1" = 200 ] || exit 22
}
[ -z "${FAKE_STATUS:-}" ] || answer "$FAKE_STATUS"
case "$word" in */v9.9.9/*) ;; *) answer 404 ;; esac
cp "$FAKE_RELEASE/$(basename "$word")" "$to" || answer 404
answer 200
FAKE

# A fake git, which lists the refs of the repository of the action: an annotated release tag, lower releases of the same
# commit, a tag that moves with them, and a branch that is ahead of them.
cat >"$work/fake/git" <<'FAKE'
#!/usr/bin/env bash
case " $* " in *' ls-remote '*) ;; *) exec "$(PATH="${PATH#*:}" command -v git)" "$@" ;; esac
tag=1111111111111111111111111111111111111111 commit=2222222222222222222222222222222222222222
printf '%s\t%s\n' "$commit" refs/tags/v9 3333333333333333333333333333333333333333 refs/heads/main \
  "$tag" refs/tags/v9.9.9 "$commit" 'refs/tags/v9.9.9^{}' \
  "$commit" refs/tags/v9.9.8 "$commit" refs/tags/v9.8.10 "$commit" refs/tags/v1.10.0
FAKE
chmod +x "$work/fake/"*

script="$root/action/run.sh"

# step CODE REPORT [NAME=VALUE...]: runs the script with the fake tool.
step() {
  local code="$1" report="$2"
  shift 2
  rm -f "$work/seen" "$work/urls"
  printf 'of an earlier step' >"$work/space/sub folder/out.sarif"
  : >"$work/outputs"
  : >"$work/summary"
  status "$code" "$work/log" env PATH="$work/fake:$PATH" \
    FAKE_SEEN="$work/seen" FAKE_CODE="$code" FAKE_REPORT="$report" FAKE_URLS="$work/urls" FAKE_RELEASE="$work/release" \
    GITHUB_WORKSPACE="$work/space" GITHUB_OUTPUT="$work/outputs" GITHUB_STEP_SUMMARY="$work/summary" \
    RUNNER_TEMP="$work" RUNNER_OS=Linux RUNNER_ARCH=X64 ACTION_REPOSITORY=meshprobe/meshprobe \
    GITHUB_EVENT_NAME=push GITHUB_SHA= PULL_BASE= PULL_HEAD= INPUT_MODE=auto INPUT_DIFF_FAIL_ON=regression \
    INPUT_PATHS=. INPUT_ARGS= INPUT_VERSION=path INPUT_CONFIG= INPUT_ANNOTATIONS=true INPUT_SUMMARY=true \
    INPUT_SARIF_FILE= INPUT_FAIL_ON=error INPUT_WORKING_DIRECTORY='sub folder' "$@" bash "$script"
}

# outputs TEXT: compares the outputs, without the mode.
outputs() {
  [ "$(grep -v '^mode=' "$work/outputs")" = "$1" ] || fail_with "$work/outputs" "expected these outputs: $1"
}

report() {
  printf '{\n  "summary": {\n    "errors": %s,\n    "warnings": %s,\n    "notes": %s,\n    "hidden": 0\n  }\n}\n' "$@"
}

# shellcheck disable=SC2016 # the command substitution must arrive as text
step 1 "$(report 2 1 4)" INPUT_PATHS=$'apps\n  two words/$(touch x)\n\n' \
  INPUT_ARGS=$'--assume \'mtls=STRICT\' --ignore "a b"\n-n a\\ b \'\'' \
  INPUT_CONFIG='my config.yaml' INPUT_SARIF_FILE=out.sarif
# shellcheck disable=SC2016
has "$work/seen" '<--config><my config.yaml><--assume><mtls=STRICT><--ignore><a b><-n><a b><><--><apps><two words/$(touch x)>'
has "$work/seen" "<check><--fail-on><error><--report><summary=$work/summary><--report-root><$work/space><--report><json="
has "$work/seen" '<--report><sarif=out.sarif>'
has "$work/outputs" 'mode=check'
has "$work/summary" 'a summary'
outputs $'findings=7\nerrors=2\nsarif-file=sub folder/out.sarif\nexit-code=1'
# The runner does not execute output of the tool as a command, because it is between the stop markers.
awk '/^::stop-commands::/ { quiet = 1; mark = "::" substr($0, 18) "::" }
     $0 == mark { quiet = 0; ended = 1 }
     /not a command/ && !quiet { exit 1 }
     /an annotation/ { if (quiet) exit 1; shown = 1 }
     END { if (!shown || !ended) exit 1 }' "$work/log" || fail_with "$work/log" "the stop markers do not enclose the output of the tool"
step 0 "$(report 0 0 0)" INPUT_ANNOTATIONS=false INPUT_SUMMARY=false
outputs $'findings=0\nerrors=0\nexit-code=0'
lacks "$work/log" 'an annotation'
lacks "$work/seen" 'summary='
lacks "$work/seen" 'sarif='
lacks "$work/seen" '--config'
step 2 ''
has "$work/log" '::error title=meshprobe::meshprobe ended with exit code 2'
outputs 'exit-code=2'
step 2 '' INPUT_SARIF_FILE=out.sarif
outputs 'exit-code=2'
step 2 "$(report 1 0 0)"
outputs $'findings=1\nerrors=1\nexit-code=2'
step 1 "$(report 1 0 0)" INPUT_VERSION=source
[ -x "$work/meshprobe-target/release/meshprobe" ] || fail "the binary was not built in the runner's temporary folder"
for wrong in INPUT_VERSION=latest INPUT_VERSION='1.0/../2' INPUT_ANNOTATIONS=yes INPUT_SUMMARY=no INPUT_ARGS="'open" \
  INPUT_MODE=both INPUT_DIFF_FAIL_ON=error \
  INPUT_WORKING_DIRECTORY=nowhere; do
  step 2 '' "$wrong"
  has "$work/log" '::error title=meshprobe::'
  outputs 'exit-code=2'
  [ ! -e "$work/seen" ] || fail "$wrong: the tool was run"
done
for wrong in INPUT_SARIF_FILE=$'x.sarif\nerrors=0' INPUT_FAIL_ON=$'error\n::set-output name=a::b' INPUT_CONFIG=$'a\rb' \
  INPUT_WORKING_DIRECTORY=$'sub folder\n' INPUT_MODE=$'diff\nmode=check' INPUT_DIFF_FAIL_ON=$'any\n'; do
  step 2 '' "$wrong"
  has "$work/log" '::error title=meshprobe::an input has a line break'
  outputs 'exit-code=2'
  [ ! -e "$work/seen" ] || fail "$wrong: the tool was run"
done
pass "step: arguments, exit codes, outputs and suppressed commands"

# Links in the repository cannot redirect the SARIF report or the working folder out of it.
mkdir -p "$work/outside"
printf 'not ours' >"$work/outside/x.sarif"
ln -s "$work/outside" "$work/space/sub folder/linked"
step 2 "$(report 0 0 0)" INPUT_SARIF_FILE=linked/x.sarif
has "$work/log" 'a folder in the path of sarif-file is a link'
has "$work/outside/x.sarif" 'not ours'
step 2 '' INPUT_WORKING_DIRECTORY='sub folder/linked'
has "$work/log" 'working-directory is outside of the workspace'
rm "$work/space/sub folder/linked"
ln -s "$work/outside/x.sarif" "$work/space/sub folder/own.sarif"
step 0 "$(report 0 0 0)" INPUT_SARIF_FILE=own.sarif
has "$work/outside/x.sarif" 'not ours'
rm "$work/space/sub folder/own.sarif"
pass "step: links of the repository are not followed"

# The real tool in a repository with such names: outside the log between the markers, the runner sees only our annotations.
# shellcheck source=odd-names.bash
source "$root/tests/e2e/odd-names.bash"
mkdir -p "$work/bin"
ln -s "$meshprobe" "$work/bin/meshprobe"
hostile_names "$work/space/hostile"
printf '%s\n' 'apiVersion: v1' 'kind: Namespace' 'metadata: {name: shop, labels: {istio-injection: enabled}}' '---' \
  'apiVersion: security.istio.io/v1' 'kind: PeerAuthentication' 'metadata: {name: default, namespace: shop}' \
  'spec: {mtls: {mode: STRICT}}' >"$work/space/hostile/mesh.yaml"
cp -R "$work/space/hostile" "$work/hostile.before"
# shellcheck disable=SC2016 # the names are not expanded
for paths in . $'--config=evil.yaml\n--report=sarif=victim/x.yaml\n$(touch pwned).yaml\n; touch pwned;.yaml\n::error::x.yaml\nmesh.yaml'; do
  step 1 '' PATH="$work/bin:$PATH" GITHUB_ACTIONS=true INPUT_WORKING_DIRECTORY=hostile INPUT_PATHS="$paths" \
    INPUT_SARIF_FILE='--$(touch pwned).sarif'
  rm "$work/space/hostile/"*.sarif
  diff -r "$work/hostile.before" "$work/space/hostile" || fail "a file name was used as an option"
  python3 - "$work/log" "$work/outputs" <<'PYTHON'
import re
import sys

log, outputs = (open(path, encoding="utf-8", newline="\n").read() for path in sys.argv[1:])
mark, rest = re.fullmatch(r"::stop-commands::([0-9a-f]{32})\n(.*)", log, re.S).groups()
suppressed, shown = rest.split(f"\n::{mark}::\n")
annotations = [line for line in re.split(r"[\r\n]", shown) if line]
fields = dict(line.split("=", 1) for line in outputs.splitlines())
shown = 0
for line in annotations:
    more = re.fullmatch(r"(\d+) more \w+ without annotation; GitHub shows 10 annotations of each type", line)
    assert more or re.match(r"::(error|warning|notice) file=hostile/[^:,]*,line=\d+,[^:]*::", line), line
    shown += int(more[1]) if more else 1
assert shown == int(fields["findings"]) > 5, (shown, fields)
assert list(fields) == ["mode", "findings", "errors", "sarif-file", "exit-code"], outputs
assert fields["sarif-file"] == "hostile/--$(touch pwned).sarif", fields
PYTHON
done
not_run "$work"
rm -r "$work/space/hostile"
pass "step: file names are not options or commands"

# Pull requests.
# shellcheck source=action-diff.bash
source "$root/tests/e2e/action-diff.bash"

# 2. A release: the archive for this runner, with verified checksum.
name="meshprobe-9.9.9-x86_64-unknown-linux-musl"
mkdir -p "$work/release/$name"
cp "$work/fake/meshprobe" "$work/release/$name/"
tar -C "$work/release" -czf "$work/release/$name.tar.gz" "$name"
(cd "$work/release" && sha256sum "$name.tar.gz" >SHA256SUMS)
for version in 9.9.9 v9.9.9; do
  step 1 "$(report 1 0 0)" INPUT_VERSION="$version"
  outputs $'findings=1\nerrors=1\nexit-code=1'
  has "$work/urls" "/releases/download/v9.9.9/$name.tar.gz"
done
printf 'more' >>"$work/release/$name.tar.gz"
step 2 '' INPUT_VERSION=9.9.9
has "$work/log" "the checksum of $name.tar.gz differs from that of the release"
[ ! -e "$work/seen" ] || fail "a binary with a wrong checksum was run"
: >"$work/release/SHA256SUMS"
step 2 '' INPUT_VERSION=9.9.9
has "$work/log" "the checksum of $name.tar.gz is not known"
step 2 '' INPUT_VERSION=9.9.8
has "$work/log" "cannot download meshprobe-9.9.8"
step 2 '' INPUT_VERSION=9.9.9 RUNNER_OS=Haiku
has "$work/log" 'no release supports this runner'
pass "release: downloaded, verified, and refused if wrong"

# By default, the release of the ref at which the action is used.
(cd "$work/release" && tar -czf "$name.tar.gz" "$name" && sha256sum "$name.tar.gz" >SHA256SUMS)
for ref in v9.9.9 9.9.9 v9; do
  rm -rf "$work/meshprobe-target"
  step 1 "$(report 1 0 0)" INPUT_VERSION=auto ACTION_REF="$ref"
  outputs $'findings=1\nerrors=1\nexit-code=1'
  has "$work/urls" "/releases/download/v9.9.9/$name.tar.gz"
  lacks "$work/log" 'building from source'
  [ ! -e "$work/meshprobe-target" ] || fail "$ref: the binary was built although a release exists"
done
# A commit pins the binary too: a release whose checksums are not in the checkout is not downloaded.
commit=2222222222222222222222222222222222222222
step 1 "$(report 1 0 0)" INPUT_VERSION=auto ACTION_REF="$commit"
has "$work/log" "building from source: the checkout of commit $commit contains no checksums of release 9.9.9"
[ ! -e "$work/urls" ] || fail "a release was requested for a commit without its checksums"
mkdir -p "$work/pinned"
cp -R "$root/action" "$work/pinned/action"
cp "$work/release/SHA256SUMS" "$work/pinned/action/SHA256SUMS"
script="$work/pinned/action/run.sh"
step 1 "$(report 1 0 0)" INPUT_VERSION=auto ACTION_REF="$commit"
has "$work/urls" "/releases/download/v9.9.9/$name.tar.gz"
lacks "$work/log" 'building from source'
script="$root/action/run.sh"
for fork in fork/meshprobe ''; do
  step 1 "$(report 1 0 0)" INPUT_VERSION=auto ACTION_REF=v9.9.9 ACTION_REPOSITORY="$fork"
  has "$work/log" "building from source: the action is that of ${fork:-another repository}"
  [ ! -e "$work/urls" ] || fail "a fork downloaded the binary of the project"
done
for ref in main v8 v9.9.8 3333333333333333333333333333333333333333; do
  step 1 "$(report 1 0 0)" INPUT_VERSION=auto ACTION_REF="$ref"
  has "$work/log" "meshprobe: building from source: no release for ref $ref"
  [ -x "$work/meshprobe-target/release/meshprobe" ] || fail "$ref: the binary was not built"
done
step 1 "$(report 1 0 0)" INPUT_VERSION=auto ACTION_REF=
has "$work/log" 'meshprobe: building from source: the action is a local folder'
step 1 "$(report 1 0 0)" INPUT_VERSION=auto ACTION_REF=v9.9.9 RUNNER_OS=Haiku
has "$work/log" 'meshprobe: building from source: no release supports this runner'
step 2 '' INPUT_VERSION=auto ACTION_REF=v9.9.9 FAKE_OFFLINE=1
has "$work/log" 'cannot find out whether release 9.9.9 exists'
for status in 403 429 503; do
  step 2 '' INPUT_VERSION=auto ACTION_REF=v9.9.9 FAKE_STATUS="$status"
  has "$work/log" 'cannot find out whether release 9.9.9 exists'
  lacks "$work/log" 'building from source'
done
# A wrong checksum is an error, never a reason to build.
printf 'more' >>"$work/release/$name.tar.gz"
step 2 '' INPUT_VERSION=auto ACTION_REF=v9.9.9
has "$work/log" "the checksum of $name.tar.gz differs from that of the release"
lacks "$work/log" 'building from source'
pass "release: found by the ref of the action, else built from source"

# 3. The action in act. act copies the tree without ignored files, so the
# binary comes from PATH. Without a checkout step, act would not copy the tree at all.
repository="$work/repository"
mkdir -p "$repository/.github/workflows"
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
        with:
          paths: .
          working-directory: demo
          version: path
          fail-on: never
          sarif-file: meshprobe.sarif
      - name: outputs
        shell: bash
        env:
          FINDINGS: ${{ steps.never.outputs.findings }}
          ERRORS: ${{ steps.never.outputs.errors }}
          CODE: ${{ steps.never.outputs.exit-code }}
          SARIF: ${{ steps.never.outputs.sarif-file }}
          KEEP: @KEEP@
        run: |
          echo "findings=$FINDINGS errors=$ERRORS code=$CODE sarif=$SARIF"
          test "$ERRORS" = 3
          test "$FINDINGS" -ge 3
          test "$CODE" = 0
          test "$SARIF" = demo/meshprobe.sarif
          cp "$SARIF" "$KEEP"
  quiet:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
        with: {persist-credentials: false}
      - name: neither annotations nor summary
        uses: ./
        with: {paths: demo, version: path, fail-on: never, annotations: "false", summary: "false"}
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
sed -i.bak "s|@KEEP@|$work/kept.sarif|" "$repository/.github/workflows/test.yml"
rm "$repository/.github/workflows/test.yml.bak"
commit_all "$repository"

in_act() {
  (cd "$repository" && PATH="$work/bin:$PATH" XDG_CONFIG_HOME="$work/config" XDG_CACHE_HOME="$work/cache" \
    act push -P ubuntu-latest=-self-hosted --no-cache-server --action-offline-mode "$@")
}

status 0 "$work/act.log" whole '::error file=demo/apps/payments' in_act --job reports
has "$work/act.log" '::error file=demo/apps/payments/deployment.yaml,line='
has "$work/act.log" '::error file=demo/apps/cache/statefulset.yaml,line='
has "$work/act.log" 'title=meshprobe%3A strict-probe-not-rewritten::'
has "$work/act.log" 'title=meshprobe%3A tcp-probe-always-passes::'
lacks "$work/act.log" 'file=demo/apps/storefront'
has "$work/act.log" 'Summary - ## meshprobe'
has "$work/act.log" '| error | [strict-probe-not-rewritten](https://github.com/meshprobe/meshprobe/blob/main/docs/rules/strict-probe-not-rewritten.md) | demo/apps/payments/deployment.yaml:31 |'
check-jsonschema --quiet --regex-variant python --schemafile "$tools_schemas/sarif-2.1.0.json" "$work/kept.sarif" ||
  fail "the SARIF report of the action is not valid"
python3 - "$work/kept.sarif" "$repository" <<'PYTHON'
import json
import os
import sys

results = json.load(open(sys.argv[1], encoding="utf-8"))["runs"][0]["results"]
uris = [r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in results]
assert len(uris) >= 3, uris
for uri in uris:
    assert os.path.isfile(os.path.join(sys.argv[2], uri)), f"{uri} is not a file of the repository"
PYTHON
status 0 "$work/act.log" in_act --job quiet
lacks "$work/act.log" '::error'
lacks "$work/act.log" 'Summary - '
has "$work/act.log" 'error[strict-probe-not-rewritten]'
status 1 "$work/act.log" whole 'test/fails .*::error file=demo/apps/payments' in_act
grep -q 'test/fails .*::error file=demo/apps/payments' "$work/act.log" || fail_with "$work/act.log" "the failing step has no annotation"
has "$work/act.log" 'Failure - Main must fail'
pass "act: annotations on the lines, summary, SARIF, outputs, and a job that fails"

pull_request_in_act

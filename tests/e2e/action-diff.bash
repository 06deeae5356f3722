# Tests the action on pull requests; sourced by action.sh, never run.
# shellcheck shell=bash
# shellcheck disable=SC2016 # backticks of Markdown, and text that must not be expanded

# The parts that action.sh set.
: "${root:?}" "${work:?}" "${tools_schemas:?}"

# A pull request that sets STRICT for the namespace of the demo, which has an old fault. A newer commit of the base branch,
# which is not in the event, adds another fault.
upstream="$work/upstream"
policy=demo/infrastructure/mesh/peer-authentication.yaml
mkdir -p "$upstream/.github/workflows"
cp -R "$root/fixtures/demo" "$upstream/demo"
sed -i.bak 's/STRICT/PERMISSIVE/' "$upstream/$policy"
rm "$upstream/$policy.bak"
cp -R "$root/action.yml" "$root/action" "$upstream/"
cat >"$upstream/.github/workflows/pull.yml" <<'WORKFLOW'
name: pull
on: [pull_request]
permissions: {}
jobs:
  compare:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
        with: {persist-credentials: false}
      - name: must fail
        id: meshprobe
        continue-on-error: true
        uses: ./
        with: {paths: demo, version: path, sarif-file: meshprobe.sarif}
      - name: outputs
        shell: bash
        env:
          OUTPUTS: ${{ toJSON(steps.meshprobe.outputs) }}
          OUTCOME: ${{ steps.meshprobe.outcome }}
          COMMENT: ${{ steps.meshprobe.outputs.comment-file }}
          SARIF: ${{ steps.meshprobe.outputs.sarif-file }}
          KEEP: @KEEP@
        run: |
          test "$OUTCOME" = failure
          cp "$COMMENT" "$KEEP/comment.md"
          cp "$SARIF" "$KEEP/meshprobe.sarif"
          printf '%s\n' "$OUTPUTS" >"$KEEP/outputs.json"
WORKFLOW
kept="$work/kept"
mkdir -p "$kept"
sed -i.bak "s|@KEEP@|$kept|" "$upstream/.github/workflows/pull.yml"
rm "$upstream/.github/workflows/pull.yml.bak"
commit_all "$upstream"
pull_base="$(git -C "$upstream" rev-parse HEAD)"
git -C "$upstream" checkout --quiet -b feature
cp "$root/fixtures/$policy" "$upstream/$policy"
commit_all "$upstream"
pull_head="$(git -C "$upstream" rev-parse HEAD)"
git -C "$upstream" checkout --quiet main
sed 's/name: cache$/name: queue/' "$upstream/demo/apps/cache/statefulset.yaml" >"$upstream/demo/apps/queue.yaml"
commit_all "$upstream"
newer_base="$(git -C "$upstream" rev-parse HEAD)"
git -C "$upstream" checkout --quiet --detach
git -C "$upstream" merge --quiet --no-ff --message merge feature
pull_merge="$(git -C "$upstream" rev-parse HEAD)"
git -C "$upstream" update-ref refs/pull/1/merge HEAD
git -C "$upstream" config uploadpack.allowAnySHA1InWant true
git -C "$upstream" config uploadpack.allowFilter true

# clone_at COMMIT FETCH-OPTION...: replaces the working folder by a clone as actions/checkout makes it.
clone_at() {
  local commit="$1" clone="$work/space/clone"
  shift
  rm -rf "$clone"
  git init --quiet --initial-branch=main "$clone"
  git -C "$clone" remote add origin "file://$upstream"
  git -C "$clone" fetch --quiet --no-tags "$@" origin "+$commit:refs/remotes/pull/1/merge"
  git -C "$clone" checkout --quiet --detach refs/remotes/pull/1/merge
}

# on_pull CODE REPORT [NAME=VALUE...]: runs the script in the clone, with the event of the pull request.
on_pull() {
  local code="$1" report="$2"
  shift 2
  step "$code" "$report" INPUT_WORKING_DIRECTORY=clone GITHUB_EVENT_NAME=pull_request GITHUB_SHA="$pull_merge" \
    PULL_BASE="$pull_base" PULL_HEAD="$pull_head" "$@"
}

# compared BASE: checks that the fake tool compared HEAD with this commit.
compared() {
  has "$work/seen" "<diff><--since><$1><--until><HEAD><--fail-on>"
  has "$work/outputs" 'mode=diff'
  lacks "$work/log" '::warning'
}

# checked REASON: checks that `check` ran instead, and that the log and the summary name the reason.
checked() {
  has "$work/seen" '<check><--fail-on><error>'
  has "$work/outputs" 'mode=check'
  lacks "$work/outputs" 'comment-file'
  has "$work/log" '::warning title=meshprobe::meshprobe ran `check` instead of `diff`: '"$1"
  has "$work/summary" 'meshprobe ran `check` instead of `diff`: '"$1"
  has "$work/summary" 'a summary'
}

changes() {
  printf '{\n  "summary": {\n    "regressions": %s,\n    "added": %s,\n    "changed": %s\n  }\n}\n' "$@"
}

# 1. The arguments, the reports and the outputs.
clone_at "$pull_merge" --depth=1
on_pull 1 "$(changes 3 2 4)" INPUT_PATHS=$'demo\n./action/' INPUT_ARGS='--mesh-version 1.28' INPUT_SARIF_FILE=out.sarif
compared "$newer_base"
has "$work/seen" '<--fail-on><regression><--report><markdown='
has "$work/seen" "<--report-root><$work/space><--report><json="
has "$work/seen" '<--report><sarif=out.sarif><--mesh-version><1.28><--><demo><./action/>'
has "$work/log" '::error file=a.yaml::an annotation'
has "$work/summary" 'a comment'
comment="$(sed -n 's/^comment-file=//p' "$work/outputs")"
[ "$(head -n 1 "$comment")" = '<!-- meshprobe diff -->' ] || fail "the body of the comment was not kept"
outputs $'findings=5\nerrors=5\ncomment-file='"$comment"$'\nsarif-file=clone/out.sarif\nexit-code=1'
[ "$(git -C "$work/space/clone" rev-list --count HEAD)" = 1 ] || fail "the action fetched the history"
on_pull 0 "$(changes 0 0 1)" INPUT_DIFF_FAIL_ON=never INPUT_SUMMARY=false INPUT_ANNOTATIONS=false
compared "$newer_base"
has "$work/seen" '<--fail-on><never>'
lacks "$work/log" 'an annotation'
[ ! -s "$work/summary" ] || fail "a summary was written"
on_pull 2 "$(changes 0 0 0)"
has "$work/summary" '`diff` ended with exit code 2'
lacks "$work/summary" 'a comment'
lacks "$work/outputs" 'comment-file'
for mode in INPUT_MODE=check GITHUB_EVENT_NAME=push GITHUB_EVENT_NAME=merge_group; do
  on_pull 0 "$(report 0 0 0)" "$mode"
  has "$work/seen" '<check>'
  has "$work/outputs" 'mode=check'
  lacks "$work/log" '::warning'
done
pass "pull request: arguments, reports, outputs and modes"

# 2. The base: that of the merge commit, or the merge base; the clone does not change where it contains the base.
on_pull 0 "$(changes 0 0 0)" GITHUB_EVENT_NAME=pull_request_target GITHUB_SHA="$pull_base"
compared "$newer_base"
clone_at "$pull_merge"
on_pull 0 "$(changes 0 0 0)"
compared "$newer_base"
[ "$(git -C "$work/space/clone" rev-parse --is-shallow-repository)" = false ] || fail "the clone became shallow"
clone_at "$pull_head"
on_pull 0 "$(changes 0 0 0)" PULL_BASE="$pull_base"
compared "$pull_base"
pass "pull request: the base of a merge commit and of a branch"

# A partial clone gets the files that it lacks, and a sparse checkout needs none.
for filter in blob:none tree:0; do
  clone_at "$pull_merge" --depth=1 --filter="$filter"
  on_pull 0 "$(changes 0 0 0)"
  compared "$newer_base"
  missing="$(git -C "$work/space/clone" rev-list --objects --no-walk --missing=print "$newer_base" HEAD)"
  case "$missing" in '?'* | *$'\n?'*) fail "the action did not fetch all files" ;; esac
done
git -C "$work/space/clone" sparse-checkout set --cone action
on_pull 0 "$(changes 0 0 0)"
compared "$newer_base"
on_pull 1 '' PATH="$work/bin:$PATH" INPUT_PATHS=demo
has "$work/log" 'STRICT for namespace `shop`'
pass "pull request: partial clones and sparse checkouts"

# 3. `check` runs if the base is not known or cannot be fetched. Nothing of a wrong event is executed or printed.
clone_at "$pull_head"
on_pull 0 "$(report 0 0 0)" PULL_BASE="$newer_base"
checked 'the merge base of the pull request is not in the clone'
clone_at "$pull_head" --depth=1
on_pull 0 "$(report 0 0 0)"
checked 'the head of the pull request is checked out without its history; set "fetch-depth: 0" for the checkout'
clone_at "$pull_base" --depth=1
on_pull 0 "$(report 0 0 0)" GITHUB_EVENT_NAME=pull_request_target GITHUB_SHA="$pull_base"
checked 'the commit that is checked out is not that of the pull request'
clone_at "$pull_merge" --depth=1
for wrong in main HEAD -o "${pull_base%?}" "${pull_base}0" "--upload-pack=touch pwned" '$(touch pwned)' $'x\n::error::y' \
  "$(printf '%s' "$pull_base" | tr '0-9a-f' 'A-P')"; do
  on_pull 0 "$(report 0 0 0)" PULL_BASE="$wrong"
  checked 'the base in the event is not the name of a commit'
  lacks "$work/log" '::error::y'
done
on_pull 0 "$(report 0 0 0)" INPUT_MODE=diff GITHUB_EVENT_NAME=push PULL_BASE= PULL_HEAD=
checked 'the event is not a pull request'
on_pull 0 "$(report 0 0 0)" INPUT_PATHS=$'demo\nrendered'
checked 'one of the paths is not in the pull request'
clone_at "$pull_merge" --depth=1
git -C "$work/space/clone" remote set-url origin "file://$work/nowhere"
on_pull 0 "$(report 0 0 0)"
checked 'the base of the pull request cannot be fetched'
has "$work/log" 'fatal: '
clone_at "$pull_merge" --filter=blob:none
git -C "$work/space/clone" remote set-url origin "file://$work/nowhere"
on_pull 0 "$(report 0 0 0)"
checked 'the clone is partial, and its files cannot be fetched'
rm -rf "$work/space/clone/.git"
on_pull 0 "$(report 0 0 0)" GIT_CEILING_DIRECTORIES="$work/space"
checked 'working-directory is not in a repository of the workspace'
clone_at "$pull_merge" --depth=1
rm "$work/space/clone/.git/HEAD"
on_pull 0 "$(report 0 0 0)"
checked 'git cannot read a commit that is checked out in working-directory'
not_run "$work"
pass "pull request: \`check\` runs without a base"

# A folder of the pull request that looks like a repository is not used: its settings name a command, and its HEAD is any
# commit.
for head in HEAD FETCH_HEAD; do
  clone_at "$pull_merge" --depth=1
  false="$work/space/clone/demo"
  mkdir -p "$false/refs/heads"
  printf 'ref: refs/heads/x\n' >"$false/HEAD"
  ln -s "../../../.git/$head" "$false/refs/heads/x"
  ln -s ../.git/objects ../.git/shallow "$false"
  printf '[core]\n\tbare = true\n\tsshCommand = touch %s/pwned\n[protocol "ext"]\n\tallow = always\n[remote "origin"]\n\turl = "ext::sh -c touch%% %s/pwned"\n' \
    "$work" "$work" >"$false/config"
  on_pull 0 "$(changes 0 0 0)" INPUT_WORKING_DIRECTORY=clone/demo INPUT_PATHS=apps
  compared "$newer_base"
  on_pull 0 "$(changes 0 0 0)" INPUT_PATHS=demo
  compared "$newer_base"
  if PATH="$work/bin:$PATH" bash -c 'cd "$1" && meshprobe diff --since "$2" --until HEAD --require-workloads' _ "$false" "$newer_base" >"$work/log" 2>&1; then
    fail_with "$work/log" "the tool compared the wrong repository"
  fi
  has "$work/log" 'STRICT for namespace `shop`'
done
not_run "$work"
git init --quiet "$work/space/clone/demo/apps"
on_pull 0 "$(report 0 0 0)" INPUT_PATHS=demo/apps
checked 'one of the paths is in another repository, such as a submodule'
pass "pull request: no folder of the tree is used as a repository"

# 4. The real tool: only the pull request, and no text of the manifests is a command. Files of the working tree do not count.
clone_at "$pull_merge" --depth=1
cp "$work/space/clone/demo/apps/payments/deployment.yaml" "$work/space/clone/demo/apps/working.yaml"
on_pull 1 '' PATH="$work/bin:$PATH" GITHUB_ACTIONS=true INPUT_PATHS=demo INPUT_SARIF_FILE=out.sarif
has "$work/log" 'STRICT for namespace `shop`'
lacks "$work/log" 'working.yaml'
comment="$(sed -n 's/^comment-file=//p' "$work/outputs")"
cmp "$comment" "$work/summary" || fail "the summary and the comment differ"
on_pull 2 '' PATH="$work/bin:$PATH" GITHUB_ACTIONS=true INPUT_PATHS=action
has "$work/log" 'neither state contains a manifest'
hostile_names "$work/space/clone/names"
git -C "$work/space/clone" add --all
git -C "$work/space/clone" commit --quiet --message names
git -C "$work/space/clone" fetch --quiet --depth=1 origin "$pull_head"
hostile_pull="$(git -C "$work/space/clone" commit-tree -p "$newer_base" -p "$pull_head" -m merge 'HEAD^{tree}')"
git -C "$work/space/clone" checkout --quiet "$hostile_pull"
on_pull 1 '' PATH="$work/bin:$PATH" GITHUB_ACTIONS=true
grep -q '::error::x.yaml' "$work/log" || fail_with "$work/log" "the log does not name the file"
awk '/^::stop-commands::/ { mark = "::" substr($0, 18) "::"; next }
     $0 == mark { mark = ""; next }
     mark != "" || /^$/ || /^meshprobe: comparing HEAD/ || /^[0-9]+ more [a-z]+ without annotation/ { next }
     !/^::(error|warning|notice) file=clone\/[^:,]*,line=[0-9]+,[^:]*::/ { print; exit 1 }' "$work/log" ||
  fail_with "$work/log" "a text of the manifests is outside of the stop markers"
! grep -q $'\r' "$work/summary" || fail_with "$work/summary" "a line break of a name is in the summary"
not_run "$work"
pass "pull request: the real tool"

# Runs the complete action in act, on the event of the pull request.
pull_request_in_act() {
  local clone="$work/space/clone"
  clone_at "$pull_merge" --depth=1
  printf '{"pull_request": {"number": 1, "base": {"sha": "%s", "ref": "main"}, "head": {"sha": "%s", "ref": "feature"}}}\n' \
    "$pull_base" "$pull_head" >"$work/event.json"
  status 0 "$work/act.log" whole "::error file=$policy" in_act_on_pull "$clone"
  has "$work/act.log" "::error file=$policy,line="
  has "$work/act.log" '::error file=demo/apps/payments/deployment.yaml,line='
  lacks "$work/act.log" 'queue.yaml'
  has "$work/act.log" 'Summary - <!-- meshprobe diff -->'
  has "$work/act.log" 'Failure - Main must fail'
  check-jsonschema --quiet --regex-variant python --schemafile "$tools_schemas/sarif-2.1.0.json" "$kept/meshprobe.sarif" ||
    fail "the SARIF report of the action is not valid"
  python3 - "$kept" "$clone" <<'PYTHON'
import json
import pathlib
import sys

kept, clone = map(pathlib.Path, sys.argv[1:])
outputs = json.loads((kept / "outputs.json").read_text())
results = json.loads((kept / "meshprobe.sarif").read_text())["runs"][0]["results"]
assert outputs["mode"] == "diff" and outputs["exit-code"] == "1", outputs
assert outputs["findings"] == outputs["errors"] == "2" and len(results) == 2, (outputs, results)
assert {result["baselineState"] for result in results} == {"new"}, results
for result in results:
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert (clone / uri).is_file(), uri
comment = (kept / "comment.md").read_text()
assert comment.startswith("<!-- meshprobe diff -->\n") and "STRICT for namespace" in comment, comment
PYTHON
  pass "act: a pull request with annotations, summary, comment, SARIF, and a step that fails"
}

in_act_on_pull() {
  (cd "$1" && PATH="$work/bin:$PATH" XDG_CONFIG_HOME="$work/config" XDG_CACHE_HOME="$work/cache" \
    act pull_request --eventpath "$work/event.json" -P ubuntu-latest=-self-hosted --no-cache-server --action-offline-mode)
}

#!/usr/bin/env bash
# Rewrites a copy of a whole folder, twice, and undoes it: bash tests/e2e/corpus.sh [FOLDER]
#
# The default is a part of fixtures/. Prints the figures, and fails if a second run changes something, if a line changed
# that no edit explains, if a comment was lost, or if the content after an undo differs from the original.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
find_meshprobe

judge="$root/tests/e2e/corpus.py"
if [ $# -gt 0 ]; then
  cp -R "$1" "$work/before"
else
  mkdir "$work/before"
  cp -R "$root/fixtures/demo" "$root/fixtures/istio" "$root/fixtures/kustomize" "$work/before/"
fi
chmod -R u+w "$work/before"
cp -R "$work/before" "$work/after"

# run NAME OPTION...: rewrites the copy in place; exit code 1 only means that a pod was refused.
run() {
  local log="$work/$1.log" code=0 start end
  shift
  start="$(date +%s%N)"
  (cd "$work/after" && "$meshprobe" rewrite --write --isolated --no-ignore --color never "$@" .) >"$log" 2>&1 || code=$?
  end="$(date +%s%N)"
  [ "$code" -le 1 ] || fail_with "$log" "exit status $code: rewrite --write $*"
  printf '     %s\n' "$(tail -n 1 "$log") ($(((end - start) / 1000000)) ms)"
}

# guards NAME: prints how often each guard refused.
guards() {
  { grep -oE '^error\[[a-z-]+\]' "$work/$1.log" || true; } | sort | uniq -c | sed 's/^/     /'
}

run first --assume injection=all --mesh-version 1.28
guards first
cp -R "$work/after" "$work/rewritten"
python "$judge" rewritten "$work/before" "$work/rewritten"
pass "every changed line is explained by a handler or an annotation"

run second --assume injection=all --mesh-version 1.28
diff -r "$work/rewritten" "$work/after" >"$work/diff" || fail_with "$work/diff" "a second run changed something"
pass "a second run changes nothing"

run undo --undo
guards undo
python "$judge" undone "$work/before" "$work/rewritten" "$work/after"
pass "undone files have the original content and comments"

cp -R "$work/after" "$work/undone"
run again --undo
diff -r "$work/undone" "$work/after" >"$work/diff" || fail_with "$work/diff" "a second undo changed something"
pass "a second undo changes nothing"

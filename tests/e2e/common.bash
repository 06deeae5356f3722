# Shared by the end-to-end scripts; sourced, never run.
#
# After it:
#   $root        the repository
#   $target      the build folder of cargo
#   $profile     the profile that is tested: MESHPROBE_PROFILE, else `gate`
#   $work        an empty folder that is removed at the end
# and the tools of .ci/tools.sh are on PATH. find_meshprobe and find_wheel set
#   $meshprobe   the binary under test: MESHPROBE_BIN, else the build of the profile
#   $wheels      a folder with one wheel: MESHPROBE_WHEELS, else a new one

set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
# shellcheck source=../../.ci/tools.sh
source "$root/.ci/tools.sh"

# The terminal and the Git configuration of the caller must not affect the results.
unset NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
export LC_ALL=C.UTF-8
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@example.com
export GIT_COMMITTER_NAME=test GIT_COMMITTER_EMAIL=test@example.com

target="${CARGO_TARGET_DIR:-$root/target}"
case "$target" in /*) ;; *) target="$root/$target" ;; esac
profile="${MESHPROBE_PROFILE:-gate}"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

fail() {
  printf 'FAIL %s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

pass() {
  printf 'ok   %s\n' "$*"
}

# Prints a log, indented, and fails.
fail_with() {
  local log="$1"
  shift
  sed 's/^/    | /' "$log" >&2
  fail "$@"
}

# has FILE TEXT, lacks FILE TEXT: checks that the file contains, or does not contain, the exact text.
has() {
  grep -qF -- "$2" "$1" || fail_with "$1" "expected to find: $2"
}

lacks() {
  ! grep -qF -- "$2" "$1" || fail_with "$1" "expected not to find: $2"
}

# status EXPECTED LOG COMMAND...: runs a command, writes its output to the log, and compares its exit status.
status() {
  local expected="$1" log="$2" code=0
  shift 2
  "$@" >"$log" 2>&1 || code=$?
  [ "$code" = "$expected" ] || fail_with "$log" "exit status $code instead of $expected: $*"
}

# whole PATTERN COMMAND...: runs act until its output contains the pattern, five times at most. In about one of thirty runs,
# act 0.2.89 loses the output that a step prints directly before it ends.
whole() {
  local pattern="$1" code
  shift
  for _ in 1 2 3 4 5; do
    code=0
    "$@" >"$work/whole.log" 2>&1 || code=$?
    if grep -qE -- "$pattern" "$work/whole.log"; then break; fi
  done
  cat "$work/whole.log"
  return "$code"
}

# find_meshprobe [PROFILE]
find_meshprobe() {
  local of="${1:-$profile}" folder
  folder="$of"
  [ "$of" != dev ] || folder=debug
  meshprobe="${MESHPROBE_BIN:-$target/$folder/meshprobe}"
  [ -x "$meshprobe" ] || fail "no binary at $meshprobe; run \`cargo build --locked --profile $of\` first"
  meshprobe="$(cd "$(dirname "$meshprobe")" && pwd)/$(basename "$meshprobe")"
}

find_wheel() {
  wheels="${MESHPROBE_WHEELS:-}"
  if [ -z "$wheels" ]; then
    wheels="$work/wheels"
    CARGO_TARGET_DIR="$target" bash "$root/packaging/wheel.sh" "$wheels" --profile "$profile" >"$work/wheel.log" 2>&1 ||
      fail_with "$work/wheel.log" "the wheel was not built"
  fi
  local found=("$wheels"/*.whl)
  [ "${#found[@]}" = 1 ] && [ -f "${found[0]}" ] || fail "expected one wheel in $wheels"
}

# Creates a repository at $1 with one commit of the current tree, including changes that are not committed.
snapshot_repository() {
  local to="$1" name
  mkdir -p "$to"
  if git -C "$root" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git -C "$root" ls-files -z --cached --others --exclude-standard |
      while IFS= read -r -d '' name; do
        # A tracked file may be deleted in the working tree.
        if [ -e "$root/$name" ]; then printf '%s\0' "$name"; fi
      done | tar -C "$root" --null --files-from=- -cf - | tar -C "$to" -xf -
  else
    tar -C "$root" --exclude=./target -cf - . | tar -C "$to" -xf -
  fi
  commit_all "$to"
}

commit_all() {
  [ -d "$1/.git" ] || git -C "$1" init --quiet --initial-branch=main
  git -C "$1" add --all
  git -C "$1" commit --quiet --message 'snapshot'
}

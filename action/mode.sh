# Chooses between `check` and `diff`, and finds the base of a pull request; sourced by run.sh, never run.
# shellcheck shell=bash

# Sets $mode to the command to run. Sets $base to the commit to compare HEAD with, or $instead to the reason why `check`
# runs instead of `diff`. The reasons contain no text of the event or of the repository.
choose_mode() {
  # shellcheck disable=SC2034 # run.sh reads it
  mode='check' base='' instead=''
  case "$INPUT_MODE-${GITHUB_EVENT_NAME:-}" in
    auto-pull_request | auto-pull_request_target | diff-*) ;;
    *) return 0 ;;
  esac
  find_base >"${scratch:?}/git" 2>&1 || true
  quote_log "$scratch/git"
  if [ -z "$instead" ]; then
    # shellcheck disable=SC2034 # run.sh reads it
    mode='diff'
    printf 'meshprobe: comparing HEAD with its base, commit %s\n' "$base"
  fi
}

no_diff() {
  instead="$1"
  return 1
}

# Prints the nearest folder with `.git`, from a folder up to the workspace. Git must not search for a repository itself: a
# pull request can contain a folder that git would use as a bare repository, but nothing with the name `.git`.
repository_of() {
  local folder workspace
  folder="$(cd -- "$1" 2>/dev/null && pwd -P)" || return 1
  workspace="$(cd "${GITHUB_WORKSPACE:-.}" && pwd -P)"
  while [ ! -e "$folder/.git" ]; do
    case "$folder" in "$workspace" | / | '') return 1 ;; esac
    folder="${folder%/*}"
  done
  printf '%s' "$folder"
}

# Runs git at the root of the repository.
quiet_git() {
  run_git "${git_root:?}" "$@" </dev/null
}

# Sets $base or $instead, and prints the errors of git.
find_base() {
  case "${PULL_BASE:-}" in
    '') no_diff 'the event is not a pull request' || return ;;
  esac
  is_object_name "$PULL_BASE" || no_diff 'the base in the event is not the name of a commit' || return
  command -v git >/dev/null || no_diff 'git is not on PATH' || return
  local head git_root
  git_root="$(repository_of .)" || no_diff 'working-directory is not in a repository of the workspace' || return
  head="$(quiet_git rev-parse --verify 'HEAD^{commit}')" ||
    no_diff 'git cannot read a commit that is checked out in working-directory' || return
  base_of "$head" || return
  fetch_base || return
  fetch_missing_objects ||
    no_diff 'the clone is partial, and its files cannot be fetched; remove "filter" and "sparse-checkout" from the checkout step, or keep its credentials' ||
    return
  has_paths
}

# Succeeds for the full name of an object, in SHA-1 or SHA-256.
is_object_name() {
  case "$1" in *[!0-9a-f]*) return 1 ;; esac
  [ "${#1}" -eq 40 ] || [ "${#1}" -eq 64 ]
}

# Sets $base to the commit from which HEAD differs by exactly the pull request.
base_of() {
  local parents
  # The raw commit also has its parents in a shallow clone.
  # shellcheck disable=SC2207 # the names contain no spaces
  parents=($(quiet_git cat-file commit "$1" | sed -n '/^$/q; s/^parent //p'))
  if [ "${#parents[@]}" -eq 2 ] && is_merge_of_event "$1" "${parents[1]}"; then
    # The base branch may be newer than the base in the event. The merge commit contains the newer commits too.
    base="${parents[0]}"
  elif [ "$1" = "${PULL_HEAD:-}" ]; then
    merge_base "$1"
  else
    no_diff 'the commit that is checked out is not that of the pull request'
  fi
}

# is_merge_of_event COMMIT SECOND-PARENT: succeeds if GitHub made the commit to merge the pull request into its base.
is_merge_of_event() {
  [ "$2" = "${PULL_HEAD:-}" ] || [ "${GITHUB_EVENT_NAME:-}/${GITHUB_SHA:-}" = "pull_request/$1" ]
}

# The head of the pull request may lack commits of the base branch, which must not count as its changes.
merge_base() {
  if [ "$(quiet_git rev-parse --is-shallow-repository)" != false ]; then
    no_diff 'the head of the pull request is checked out without its history; set "fetch-depth: 0" for the checkout' ||
      return
  fi
  base="$(quiet_git merge-base "$PULL_BASE" "$1")" || no_diff 'the merge base of the pull request is not in the clone'
}

# Fetches the base, without its history, if the clone does not contain it.
fetch_base() {
  is_object_name "$base" || no_diff 'the base of the pull request is not the name of a commit' || return
  if quiet_git cat-file -e "$base^{commit}" 2>/dev/null; then return 0; fi
  quiet_git fetch --no-tags --no-recurse-submodules --depth=1 origin "$base" ||
    no_diff 'the base of the pull request cannot be fetched; set "fetch-depth: 0" for the checkout, or keep its credentials'
}

# Fetches the files of both commits that a partial clone lacks, without history.
fetch_missing_objects() {
  local missing _
  if ! quiet_git config --get-regexp '^remote\..*\.promisor$' >/dev/null; then return 0; fi
  # A missing folder hides what is missing below it.
  for _ in 1 2 3; do
    missing="$(quiet_git rev-list --objects --no-walk --missing=print "$base" HEAD | sed -n 's/^?//p')" || return 1
    if [ -z "$missing" ]; then return 0; fi
    printf '%s\n' "$missing" | fetch_objects || return 1
  done
  return 1
}

# Fetches the objects that standard input names. The filter omits only what nobody names.
fetch_objects() {
  run_git "${git_root:?}" -c fetch.negotiationAlgorithm=noop \
    fetch --quiet --no-tags --no-write-fetch-head --no-recurse-submodules --filter=blob:none --stdin origin
}

# Succeeds if each path is in one of the commits. An earlier step of the job may have written others.
has_paths() {
  local line path below
  below="$(pwd -P)/"
  below="${below#"$git_root"/}"
  while read -r line || [ -n "$line" ]; do
    case "$line" in '' | . | ./) continue ;; esac
    case "$line" in /* | [A-Za-z]:*) path="$line" ;; *) path="$below$line" ;; esac
    [ -n "$(quiet_git ls-tree HEAD -- "$path")" ] || [ -n "$(quiet_git ls-tree "$base" -- "$path")" ] ||
      no_diff 'one of the paths is not in the pull request, such as a folder that an earlier step wrote' || return
    [ ! -d "$line" ] || [ "$(repository_of "$line")" = "$git_root" ] ||
      no_diff 'one of the paths is in another repository, such as a submodule' || return
  done <<<"$INPUT_PATHS"
}

# Reports why `check` runs instead of `diff`.
report_instead() {
  # shellcheck disable=SC2016 # backticks of Markdown
  local text='meshprobe ran `check` instead of `diff`: '"$instead"
  printf '::warning title=meshprobe::%s\n' "$text"
  if wants_summary; then
    printf '> [!WARNING]\n> %s\n\n' "$text" >>"$GITHUB_STEP_SUMMARY"
  fi
}

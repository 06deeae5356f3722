#!/usr/bin/env bash
# The only step of action.yml: runs `meshprobe check` or `meshprobe diff` once, and
# writes the log, the annotations, the job summary, the SARIF report, the body of a
# comment and the outputs of that run. Exits with the exit code of the run.
#
# Inputs come as environment variables and are never part of a command line
# that a shell reads. Written for bash 3.2, which macOS runners still have.
set -euo pipefail

action="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
# shellcheck source=git.sh
source "$action/action/git.sh"
# shellcheck source=install.sh
source "$action/action/install.sh"
# shellcheck source=mode.sh
source "$action/action/mode.sh"

give_up() {
  printf '::error title=meshprobe::%s\n' "$1"
  output exit-code 2
  exit 2
}

# An output is one line of a file: a value with a line break would set other outputs.
output() {
  case "$2" in *[[:cntrl:]]*) return ;; esac
  if [ -n "${GITHUB_OUTPUT:-}" ]; then
    printf '%s=%s\n' "$1" "$2" >>"$GITHUB_OUTPUT"
  fi
}

wants() {
  case "$2" in
    true) return 0 ;;
    false) return 1 ;;
    *) give_up "$1 must be \"true\" or \"false\"" ;;
  esac
}

# These inputs have one value. A line break in them is a mistake, or an attack on
# the outputs and the log of the step.
one_line() {
  local name
  for name in INPUT_VERSION INPUT_CONFIG INPUT_ANNOTATIONS INPUT_SUMMARY INPUT_SARIF_FILE INPUT_FAIL_ON \
    INPUT_DIFF_FAIL_ON INPUT_MODE INPUT_WORKING_DIRECTORY; do
    case "${!name}" in *[[:cntrl:]]*) give_up "an input has a line break or a control character; expected one line" ;; esac
  done
}

# Prints a counter of the summary in the JSON report. Text of manifests cannot imitate
# its lines, because it is in strings, which never contain a line break.
counter() {
  sed -n "s/^    \"$1\": \([0-9][0-9]*\),\{0,1\}\$/\1/p" "$scratch/report.json" 2>/dev/null || true
}

# Gives up on wrong values before the binary is downloaded or built, whichever command runs.
check_choices() {
  case "$INPUT_MODE" in
    auto | check | diff) ;;
    *) give_up 'mode must be "auto", "check" or "diff"' ;;
  esac
  case "${INPUT_DIFF_FAIL_ON%,not-judged}" in
    regression | removed | any | never | not-judged) ;;
    *) give_up 'diff-fail-on must be "regression", "removed", "any" or "never", with ",not-judged" or without, or "not-judged"' ;;
  esac
  wants annotations "$INPUT_ANNOTATIONS" || true
  wants summary "$INPUT_SUMMARY" || true
  # xargs handles quotes and backslashes, and expands nothing.
  : >"$scratch/words"
  if [ -n "${INPUT_ARGS//[[:space:]]/}" ]; then
    printf '%s\n' "$INPUT_ARGS" | xargs -n 1 printf '%s\0' >"$scratch/words" 2>/dev/null ||
      give_up 'args has a quote that is not closed'
  fi
}

wants_summary() {
  wants summary "$INPUT_SUMMARY" && [ -n "${GITHUB_STEP_SUMMARY:-}" ]
}

# Sets $command to the arguments of the run.
build_command() {
  local word line
  case "$mode" in
    check) check_arguments ;;
    diff) diff_arguments ;;
  esac
  command+=(--report-root "${GITHUB_WORKSPACE:-.}" --report "json=$scratch/report.json")
  if wants annotations "$INPUT_ANNOTATIONS"; then
    command+=(--report "github=$scratch/annotations")
  fi
  if [ -n "$INPUT_SARIF_FILE" ]; then
    command+=(--report "sarif=$INPUT_SARIF_FILE")
  fi
  if [ -n "$INPUT_CONFIG" ]; then
    command+=(--config "$INPUT_CONFIG")
  fi
  while IFS= read -r -d '' word; do
    command+=("$word")
  done <"$scratch/words"
  command+=(--)
  while read -r line || [ -n "$line" ]; do
    if [ -n "$line" ]; then command+=("$line"); fi
  done <<<"$INPUT_PATHS"
}

# A run that reads nothing fails: the checkout is missing, or the paths are wrong. A folder may contain only policies.
check_arguments() {
  command=(check --fail-on "$INPUT_FAIL_ON")
  if wants_summary; then
    command+=(--report "summary=$GITHUB_STEP_SUMMARY")
  fi
}

# Exactly these two commits are compared: the files of HEAD, not those that earlier steps wrote.
diff_arguments() {
  command=(diff --since "$base" --until HEAD --fail-on "$INPUT_DIFF_FAIL_ON"
    --report "markdown=$scratch/comment.md")
}

# Succeeds if no folder in the path of a file is a link: a repository may contain a link
# to any folder. Absolute paths are allowed, because the workflow sets all of their folders.
is_direct() {
  local path="$1"
  case "$path" in /* | [A-Za-z]:*) return 0 ;; esac
  while [ "${path%/*}" != "$path" ]; do
    path="${path%/*}"
    if [ -L "$path" ]; then return 1; fi
  done
}

# Prints the path of the SARIF report relative to the workspace, for the step that uploads it.
sarif_from_workspace() {
  case "$INPUT_SARIF_FILE" in
    /* | [A-Za-z]:*) printf '%s' "$INPUT_SARIF_FILE" ;;
    *)
      case "$INPUT_WORKING_DIRECTORY" in
        . | ./) printf '%s' "$INPUT_SARIF_FILE" ;;
        *) printf '%s/%s' "${INPUT_WORKING_DIRECTORY%/}" "$INPUT_SARIF_FILE" ;;
      esac
      ;;
  esac
}

# Prints a file that contains file names and text of manifests, so the runner must not execute any line of it as a
# command.
quote_log() {
  local token
  if [ ! -s "$1" ]; then return 0; fi
  token="$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
  printf '::stop-commands::%s\n' "$token"
  cat "$1"
  printf '\n::%s::\n' "$token"
}

print_outputs() {
  case "$mode" in
    check) sum_of_counters findings errors warnings notes && sum_of_counters errors errors ;;
    diff) sum_of_counters findings regressions added && sum_of_counters errors regressions added ;;
  esac || give_up 'meshprobe did not write a valid report'
}

# sum_of_counters OUTPUT COUNTER...: sets an output to the sum of counters of the report. Fails if it lacks one of them.
sum_of_counters() {
  local name="$1" sum=0 number one
  shift
  for one in "$@"; do
    number="$(counter "$one")"
    if [ -z "$number" ]; then return 1; fi
    sum=$((sum + number))
  done
  output "$name" "$sum"
}

# Writes the summary and the body of a comment, but not after an error: the report may contain "no changes" for states
# that were not read.
print_comparison() {
  if [ "$1" -gt 1 ] || [ ! -f "$scratch/comment.md" ]; then
    # shellcheck disable=SC2016 # backticks of Markdown
    if wants_summary; then
      printf '### meshprobe: `diff` ended with exit code %s, see the log of the step\n' "$1" >>"$GITHUB_STEP_SUMMARY"
    fi
    return
  fi
  if wants_summary; then cat "$scratch/comment.md" >>"$GITHUB_STEP_SUMMARY"; fi
  local folder
  # This folder remains until the runner removes its temporary files at the end of the job.
  folder="$(mktemp -d "${RUNNER_TEMP:-/tmp}/meshprobe-comment.XXXXXX")"
  cp "$scratch/comment.md" "$folder/comment.md"
  output comment-file "$folder/comment.md"
}

main() {
  one_line
  scratch="$(mktemp -d "${RUNNER_TEMP:-/tmp}/meshprobe.XXXXXX")"
  trap 'rm -rf "$scratch"' EXIT
  check_choices
  find_binary
  cd "${GITHUB_WORKSPACE:-.}"
  [ -d "$INPUT_WORKING_DIRECTORY" ] || give_up 'working-directory is not a folder of the workspace'
  local workspace
  workspace="$(pwd -P)"
  cd -- "$INPUT_WORKING_DIRECTORY"
  # The repository may contain a link with this name.
  case "$(pwd -P)/" in
    "${workspace%/}/"*) ;;
    *) give_up 'working-directory is outside of the workspace' ;;
  esac

  is_direct "$INPUT_SARIF_FILE" || give_up 'a folder in the path of sarif-file is a link'
  # Removes the report of an earlier step.
  if [ -f "$INPUT_SARIF_FILE" ] || [ -L "$INPUT_SARIF_FILE" ]; then rm -f -- "$INPUT_SARIF_FILE"; fi
  choose_mode
  output mode "$mode"
  if [ -n "$instead" ]; then report_instead; fi
  build_command
  local code=0
  "$binary" "${command[@]}" >"$scratch/log" 2>&1 || code=$?
  quote_log "$scratch/log"
  if [ -f "$scratch/annotations" ]; then
    cat "$scratch/annotations"
  fi
  # Without a report, the tool stopped early: the log contains the reason.
  if [ -f "$scratch/report.json" ] || [ "$code" -lt 2 ]; then
    print_outputs
  fi
  if [ "$mode" = diff ]; then print_comparison "$code"; fi
  if [ -n "$INPUT_SARIF_FILE" ] && [ -f "$INPUT_SARIF_FILE" ]; then
    output sarif-file "$(sarif_from_workspace)"
  fi
  if [ "$code" -gt 1 ]; then
    printf '::error title=meshprobe::meshprobe ended with exit code %s, see the log of this step\n' "$code"
  fi
  output exit-code "$code"
  exit "$code"
}

main

#!/usr/bin/env bash
# The only step of action.yml: runs `meshprobe check` once, and writes the log,
# the annotations, the job summary, the SARIF report and the outputs of that
# run. Exits with the exit code of the run.
#
# Inputs come as environment variables and are never part of a command line
# that a shell reads. Written for bash 3.2, which macOS runners still have.
set -euo pipefail

action="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
# shellcheck source=install.sh
source "$action/action/install.sh"

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
  for name in INPUT_VERSION INPUT_CONFIG INPUT_ANNOTATIONS INPUT_SUMMARY INPUT_SARIF_FILE INPUT_FAIL_ON INPUT_WORKING_DIRECTORY; do
    case "${!name}" in *[[:cntrl:]]*) give_up "an input has a line break or a control character; expected one line" ;; esac
  done
}

# Prints a counter of the summary in the JSON report. Text of manifests cannot imitate
# its lines, because it is in strings, which never contain a line break.
counter() {
  sed -n "s/^    \"$1\": \([0-9][0-9]*\),\{0,1\}\$/\1/p" "$scratch/report.json" 2>/dev/null || true
}

# Sets $command to the arguments of the run.
build_command() {
  local word line
  command=(check --fail-on "$INPUT_FAIL_ON" --report-root "${GITHUB_WORKSPACE:-.}" --report "json=$scratch/report.json")
  if wants annotations "$INPUT_ANNOTATIONS"; then
    command+=(--report "github=$scratch/annotations")
  fi
  if wants summary "$INPUT_SUMMARY" && [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    command+=(--report "summary=$GITHUB_STEP_SUMMARY")
  fi
  if [ -n "$INPUT_SARIF_FILE" ]; then
    command+=(--report "sarif=$INPUT_SARIF_FILE")
  fi
  if [ -n "$INPUT_CONFIG" ]; then
    command+=(--config "$INPUT_CONFIG")
  fi
  # A path that contains no workload is probably wrong. A whole repository may contain none.
  case "$INPUT_PATHS" in
    . | ./ | '') ;;
    *) command+=(--require-workloads) ;;
  esac
  # xargs handles quotes and backslashes, and expands nothing.
  if [ -n "${INPUT_ARGS//[[:space:]]/}" ]; then
    printf '%s\n' "$INPUT_ARGS" | xargs -n 1 printf '%s\0' >"$scratch/words" 2>/dev/null ||
      give_up 'args has a quote that is not closed'
    while IFS= read -r -d '' word; do
      command+=("$word")
    done <"$scratch/words"
  fi
  command+=(--)
  while read -r line || [ -n "$line" ]; do
    if [ -n "$line" ]; then command+=("$line"); fi
  done <<<"$INPUT_PATHS"
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

# Prints the output of the run. It contains file names and text of manifests, so the
# runner must not execute any line of it as a command.
print_log() {
  local token
  token="$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
  printf '::stop-commands::%s\n' "$token"
  cat "$scratch/log"
  printf '\n::%s::\n' "$token"
}

print_outputs() {
  local errors warnings notes
  errors="$(counter errors)" warnings="$(counter warnings)" notes="$(counter notes)"
  case "$errors,$warnings,$notes" in
    ,* | *,,* | *,) give_up 'meshprobe did not write a valid report' ;;
  esac
  output findings "$((errors + warnings + notes))"
  output errors "$errors"
}

main() {
  one_line
  scratch="$(mktemp -d "${RUNNER_TEMP:-/tmp}/meshprobe.XXXXXX")"
  trap 'rm -rf "$scratch"' EXIT
  build_command
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
  local code=0
  "$binary" "${command[@]}" >"$scratch/log" 2>&1 || code=$?
  print_log
  if [ -f "$scratch/annotations" ]; then
    cat "$scratch/annotations"
  fi
  # Without a report, the tool stopped early: the log contains the reason.
  if [ -f "$scratch/report.json" ] || [ "$code" -lt 2 ]; then
    print_outputs
  fi
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

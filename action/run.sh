#!/usr/bin/env bash
# The one step of action.yml: runs `meshprobe check` once, as JSON, and derives
# the log, the annotations and the outputs from that. Ends with its exit code.
#
# Inputs come as environment variables and are never part of a command line
# that a shell reads. Written for bash 3.2, which macOS runners still have.
set -euo pipefail

action="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
report=(python3 "$action/action/report.py")

give_up() {
  printf '::error title=meshprobe::%s\n' "$1"
  output exit-code 2
  exit 2
}

output() {
  if [ -n "${GITHUB_OUTPUT:-}" ]; then
    printf '%s=%s\n' "$1" "$2" >>"$GITHUB_OUTPUT"
  fi
}

# Sets $binary. A build log goes to the log of the step as it comes.
find_binary() {
  case "$INPUT_VERSION" in
    path)
      binary="$(command -v meshprobe)" || give_up 'version is "path", but no meshprobe is on PATH'
      ;;
    source)
      command -v cargo >/dev/null || give_up 'version is "source", but cargo is not on PATH'
      local target="${RUNNER_TEMP:-$scratch}/meshprobe-target"
      # From the action's folder, so that its rust-toolchain.toml counts.
      (cd "$action" && cargo build --release --locked --bin meshprobe --target-dir "$target") ||
        give_up 'the build from source failed, see the log of this step'
      binary="$target/release/meshprobe"
      ;;
    *)
      give_up 'version must be "source" or "path"'
      ;;
  esac
}

main() {
  command -v python3 >/dev/null || give_up 'python3 is not on PATH'
  scratch="$(mktemp -d "${RUNNER_TEMP:-/tmp}/meshprobe.XXXXXX")"
  trap 'rm -rf "$scratch"' EXIT

  case "$INPUT_ANNOTATIONS" in true | false) ;; *) give_up 'annotations must be "true" or "false"' ;; esac

  local command=(check --output-format json --fail-on "$INPUT_FAIL_ON") word
  "${report[@]}" words "$INPUT_ARGS" >"$scratch/words" || give_up 'args has a quote that is never closed'
  while IFS= read -r -d '' word; do
    command+=("$word")
  done <"$scratch/words"
  command+=(--)
  "${report[@]}" lines "$INPUT_PATHS" >"$scratch/lines"
  while IFS= read -r -d '' word; do
    command+=("$word")
  done <"$scratch/lines"

  find_binary
  cd "${GITHUB_WORKSPACE:-.}"
  [ -d "$INPUT_WORKING_DIRECTORY" ] || give_up 'working-directory is not a folder of the workspace'
  cd "$INPUT_WORKING_DIRECTORY"

  local code=0
  "$binary" "${command[@]}" >"$scratch/report.json" 2>"$scratch/stderr" || code=$?

  # File names and manifests decide what these lines say: while they are
  # printed, the runner must not take any of them for a command.
  local token
  token="$(python3 -c 'import secrets; print(secrets.token_hex(16))')"
  printf '::stop-commands::%s\n' "$token"
  cat "$scratch/stderr"
  "${report[@]}" log "$scratch/report.json"
  printf '\n::%s::\n' "$token"

  if [ "$INPUT_ANNOTATIONS" = true ]; then
    "${report[@]}" annotations "$scratch/report.json"
  fi
  if "${report[@]}" outputs "$scratch/report.json" >"$scratch/outputs"; then
    if [ -n "${GITHUB_OUTPUT:-}" ]; then cat "$scratch/outputs" >>"$GITHUB_OUTPUT"; fi
  elif [ "$code" = 0 ]; then
    give_up 'meshprobe gave no report that can be read'
  fi
  if [ "$code" -gt 1 ]; then
    printf '::error title=meshprobe::meshprobe ended with exit code %s, see the log of this step\n' "$code"
  fi
  output exit-code "$code"
  exit "$code"
}

main

# Runs the steps of .ci/test and .ci/nightly; sourced, never run.
#
# The sourcing script defines `run_step STEP`, which runs a step, and `needs STEP`, which prints the steps
# that must pass before it.
#
#   steps_plan STEP...       sets the list of all steps, which the closing line counts
#   steps_here STEP          runs a step in this shell, so that it can change the environment
#   steps_run JOBS STEP...   runs up to JOBS steps at a time; needs that are not in the list are ignored
#   steps_summary            prints a table of elapsed and processor time, the steps that skipped something, and the
#                            number of steps that passed
#
# The output of a step is printed as a whole and in the order of the list. The first step that fails ends
# the others; its output is printed last, and the script exits with its status. A step that skips something
# prints a line that starts with `skip `. The last line is always `steps: N passed, N failed`, followed by
# `, N not run` after a failure.
# shellcheck shell=bash

declare -A steps_pid=() steps_start=() steps_took=()
steps_names=()
steps_logs="$(mktemp -d)"
trap 'steps_on_exit' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

steps_header() {
  printf '\n== %s\n' "$1"
}

steps_footer() {
  printf -- '-- %s: %d s\n' "$1" "${steps_took[$1]}"
}

steps_plan() {
  steps_names=("$@")
}

steps_here() {
  steps_current="$1"
  local start=$SECONDS
  steps_header "$1"
  run_step "$1"
  steps_took[$1]=$((SECONDS - start))
  steps_footer "$1"
  steps_current=''
}

# Succeeds if all steps that a step needs have passed.
steps_ready() {
  local need
  for need in $(needs "$1"); do
    case " ${steps_names[*]} " in
      *" $need "*) [ -n "${steps_took[$need]:-}" ] || return 1 ;;
    esac
  done
}

# Starts a step in its own process group, so that it can be ended with all its children.
steps_launch() {
  : >"$steps_logs/$1"
  set -m
  (
    set -e
    trap - INT TERM HUP
    steps_times="$steps_logs/$1.times"
    trap 'times >"$steps_times"' EXIT
    run_step "$1"
  ) >"$steps_logs/$1" 2>&1 &
  set +m
  steps_pid[$1]=$!
  steps_start[$1]=$SECONDS
}

steps_launch_ready() {
  local jobs="$1" step
  shift
  for step in "$@"; do
    [ "${#steps_pid[@]}" -lt "$jobs" ] || return 0
    if [ -z "${steps_start[$step]:-}" ] && steps_ready "$step"; then steps_launch "$step"; fi
  done
}

# Records the steps that have ended, and returns the status of the first that failed. Its process group stays in
# the list, so that steps_cancel ends the processes that it left running.
steps_reap() {
  local step status running
  running=" $(jobs -rp | tr '\n' ' ') "
  for step in "${!steps_pid[@]}"; do
    case "$running" in *" ${steps_pid[$step]} "*) continue ;; esac
    status=0
    wait "${steps_pid[$step]}" || status=$?
    if [ "$status" != 0 ]; then
      steps_current="$step"
      return "$status"
    fi
    unset "steps_pid[$step]"
    steps_took[$step]=$((SECONDS - steps_start[$step]))
  done
}

steps_run() {
  local jobs="$1" shown='' step status=0 queue
  shift
  queue=("$@")
  while [ "${#queue[@]}" != 0 ]; do
    steps_launch_ready "$jobs" "$@"
    # Shows new output of the first step in the list that has not been shown completely.
    step="${queue[0]}"
    if [ -z "$shown" ] && [ -n "${steps_start[$step]:-}" ]; then
      steps_header "$step"
      exec 8<"$steps_logs/$step"
      shown="$step"
    fi
    steps_reap || { status=$?; break; }
    [ -z "$shown" ] || cat <&8
    if [ -n "$shown" ] && [ -n "${steps_took[$step]:-}" ]; then
      cat <&8
      exec 8<&-
      steps_footer "$step"
      queue=("${queue[@]:1}")
      shown=''
    else
      sleep 0.2
    fi
  done
  [ "$status" = 0 ] || steps_failed "$status" "$shown"
}

# Ends the other steps, then shows the one that failed.
steps_failed() {
  local status="$1" shown="$2"
  steps_cancel
  if [ "$shown" = "$steps_current" ]; then
    cat <&8
  else
    [ -z "$shown" ] || printf -- '-- %s: not finished\n' "$shown"
    steps_header "$steps_current"
    cat "$steps_logs/$steps_current"
  fi
  exit "$status"
}

# Succeeds if a step that was not recorded as passed still has processes. The group outlives its leader, which
# does not handle SIGTERM.
steps_alive() {
  local pid
  for pid in "${steps_pid[@]}"; do
    ! kill -0 -- "-$pid" 2>/dev/null || return 0
  done
  return 1
}

# Sends a signal to all processes of these steps.
steps_signal() {
  local pid
  for pid in "${steps_pid[@]}"; do kill "-$1" -- "-$pid" 2>/dev/null || true; done
}

# Ends all steps. They have 20 seconds to clean up, because the live proof must remove its networks.
steps_cancel() {
  local end=$((SECONDS + 20))
  steps_signal TERM
  while steps_alive && [ "$SECONDS" -lt "$end" ]; do sleep 0.2; done
  steps_signal KILL
  steps_pid=()
}

steps_on_exit() {
  local status=$?
  steps_cancel
  rm -rf "$steps_logs"
  if [ "$status" != 0 ]; then
    printf '\nFAILED: %s (status %d, after %d s)\n' "${steps_current:-stopped}" "$status" "$SECONDS" >&2
    local passed="${#steps_took[@]}" failed=0
    [ -z "${steps_current:-}" ] || failed=1
    printf 'steps: %d passed, %d failed, %d not run\n' "$passed" "$failed" "$((${#steps_names[@]} - passed - failed))"
  fi
}

# Prints the steps whose output has a line that starts with `skip `.
steps_skipped() {
  local step
  for step in "${steps_names[@]}"; do
    if [ -e "$steps_logs/$step" ] && grep -q '^skip ' "$steps_logs/$step"; then printf ' %s' "$step"; fi
  done
}

# Prints the seconds of processor time that a step used: those of its shell and of the processes that it waited for.
steps_cpu() {
  [ -e "$steps_logs/$1.times" ] || return 0
  tr 'ms' '  ' <"$steps_logs/$1.times" | awk '{ sum += 60 * ($1 + $3) + $2 + $4 } END { printf "%.0f", sum }'
}

steps_summary() {
  local step skipped
  printf '\n%-20s %8s %8s\n' step seconds CPU
  for step in "${steps_names[@]}"; do
    printf '%-20s %8d %8s\n' "$step" "${steps_took[$step]}" "$(steps_cpu "$step")"
  done
  skipped="$(steps_skipped)"
  [ -z "$skipped" ] || printf '\nskipped in part:%s\n' "$skipped"
  printf '\nAll %d steps passed in %d s.\n' "${#steps_names[@]}" "$SECONDS"
  printf 'steps: %d passed, 0 failed\n' "${#steps_names[@]}"
}

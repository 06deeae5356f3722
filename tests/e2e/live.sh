#!/usr/bin/env bash
# The live proof: a real Envoy behind a real redirect, probed; then the same with planted errors,
# which it has to find. Needs root on Linux; elsewhere it is skipped, but never in the gate.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
find_meshprobe

skipped=77
in_gate="${CI:-false}"
as_root=()
if [ "$in_gate" = true ] && [ "$(id -u)" != 0 ]; then
  as_root=(sudo -n env "PATH=$PATH")
fi

live() {
  "${as_root[@]}" "$tools_dir/venv/bin/python" -B "$root/tests/live/run.py" --meshprobe "$meshprobe" "$@"
}

# planted ERROR EXPECTED: the proof fails on it, and says why.
planted() {
  local log="$work/$1.log"
  status 1 "$log" live --plant "$1" --modes strict --cases http-live-svc https-live-nosvc tcp-on-http-svc
  has "$log" "DISAGREE $2"
  pass "planted $1 is found: $2"
}

# 1. Everything, against the matrix of docs/live-proof.md, which --update writes.
code=0
live "$@" >"$work/log" 2>&1 || code=$?
if [ "$code" = "$skipped" ]; then
  [ "$in_gate" != true ] || fail_with "$work/log" "the gate cannot do without the live proof"
  cat "$work/log"
  exit 0
fi
[ "$code" = 0 ] || fail_with "$work/log" "the live proof ended with status $code"
cat "$work/log"
pass "rewritten probes behave as without a mesh; predict and check name the others"

# 2. What would make the proof worthless, were it not found; all at once, as each has its own network.
pids=()
planted wrong-port 'http-live-svc/alive, strict: rewritten fail' & pids+=("$!")
planted no-redirect 'http-live-svc, strict: predicted fails, seen ok' & pids+=("$!")
planted rule-off 'http-live-svc, strict: check says None, predict says fails' & pids+=("$!")
for pid in "${pids[@]}"; do
  wait "$pid"
done

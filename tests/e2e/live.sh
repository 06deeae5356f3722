#!/usr/bin/env bash
# Runs the live proof: probes a real Envoy behind a real redirect, then repeats that with planted errors,
# which it must find. Needs root on Linux; elsewhere it is skipped. In the gate it must run.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
find_meshprobe

skipped=77
in_gate="${CI:-false}"
as_root=()
if [ "$in_gate" = true ] && [ "$(id -u)" != 0 ]; then
  sudo -n true || fail "the gate requires the live proof, which needs root or sudo without a password"
  as_root=(sudo -n)
fi

live() {
  "${as_root[@]}" env PATH="$PATH" "$tools_venv/bin/python" -B "$root/tests/live/run.py" --meshprobe "$meshprobe" "$@"
}

# planted ERROR EXPECTED WORKLOAD...: checks that the proof fails with the expected message.
planted() {
  local name="$1" expected="$2" log="$work/$1.log"
  shift 2
  status 1 "$log" live --plant "$name" --modes strict --cases "$@"
  has "$log" "DISAGREE $expected"
  pass "planted $name is found: $expected"
}

# 1. Everything, compared with the tables of docs/evidence, which --update writes.
code=0
live "$@" >"$work/log" 2>&1 || code=$?
if [ "$code" = "$skipped" ]; then
  [ "$in_gate" != true ] || fail_with "$work/log" "the gate requires the live proof, which cannot run here"
  cat "$work/log"
  exit 0
fi
[ "$code" = 0 ] || fail_with "$work/log" "the live proof ended with status $code"
cat "$work/log"
pass "rewritten probes behave as without a mesh; predict and check report the others"

# 2. Errors that the proof must find. They run in parallel, because each has its own network.
pids=()
# Cleans up in any case.
trap 'wait; rm -rf "$work"' EXIT
plant() {
  planted "$@" &
  pids+=("$!")
}
plant wrong-port 'http-live-svc/alive, strict: rewritten fail' http-live-svc
plant lost-path 'http-500-svc/unhealthy, strict: rewritten pass' http-500-svc
plant lost-scheme 'https-live-nosvc/alive, strict: rewritten fail' https-live-nosvc
plant lost-service 'grpc-bad-svc-nosvc/unhealthy, strict: rewritten pass' grpc-bad-svc-nosvc
plant lost-timeout 'grpc-ok-svc-svc/alive, strict: rewritten fail' grpc-ok-svc-svc
plant no-redirect 'http-live-svc, strict: predicted fails, seen ok' http-live-svc
plant any-client 'stand-in: https-scheme-mism-nosvc/strict/off: measured FALSE_NEGATIVE, the rig reports pass' \
  https-scheme-mism-nosvc
plant blind 'http-live-svc, strict: predicted ok, seen fails' http-live-svc
plant rule-off "http-live-svc, strict: check reports [], predict reports fails" http-live-svc
plant no-rewrite 'http-live-svc: rewritten in strict-kustomize no longer' http-live-svc
plant osm-port 'OSM: http-at-startup, startupProbe http, rewritten: predicted ok, seen fails' http-live-svc
failed=0
for pid in "${pids[@]}"; do
  wait "$pid" || failed=1
done
[ "$failed" = 0 ] || fail "a planted error was not found"

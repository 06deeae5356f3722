#!/usr/bin/env bash
# Progress is shown only on a terminal, and only after a second.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
find_meshprobe

# slow SECONDS [ARGUMENT...]: runs meshprobe, whose standard input ends after so many seconds. Prints the output that a
# terminal at standard error receives.
slow() {
  python3 - "$meshprobe" "$@" <<'PYTHON'
import os
import pty
import subprocess
import sys
import time

program, seconds, *arguments = sys.argv[1:]
terminal, error = pty.openpty()
run = subprocess.Popen([program, "check", "--isolated", *arguments, "-"], stdin=subprocess.PIPE,
                       stdout=subprocess.DEVNULL, stderr=error, env={"TERM": os.environ["SHOWN_TERM"]})
os.close(error)
time.sleep(float(seconds))
run.communicate(b"apiVersion: v1\nkind: Pod\n")
seen = b""
while True:
    try:
        part = os.read(terminal, 4096)
    except OSError:  # the other end is closed
        break
    if not part:
        break
    seen += part
assert run.returncode == 0, (run.returncode, seen)
print(seen.decode().replace("\x1b", "ESC").replace("\r", "CR"), end="")
PYTHON
}

export SHOWN_TERM=xterm
slow 2.5 >"$work/log"
has "$work/log" 'CRESC[2Kmeshprobe: reading standard input, 1 s'
[ "$(tail -c 8 "$work/log")" = 'CRESC[2K' ] || fail_with "$work/log" "the line was not erased"
pass "progress: shown after a second, and erased"

[ -z "$(slow 0.2)" ] || fail "shown before a second has passed"
[ -z "$(slow 1.5 --quiet)" ] || fail "shown with --quiet"
[ -z "$(SHOWN_TERM=dumb slow 1.5)" ] || fail "shown on a terminal that cannot overwrite a line"
(sleep 1.5 && printf 'apiVersion: v1\nkind: Pod\n') | "$meshprobe" check --isolated - >/dev/null 2>"$work/log"
[ ! -s "$work/log" ] || fail_with "$work/log" "written to a file"
pass "progress: not shown earlier, with --quiet, or without a terminal"

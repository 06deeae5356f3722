#!/usr/bin/env bash
# Tests the language server with a client of the protocol that is not part of this project: pytest-lsp.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
find_meshprobe
export MESHPROBE="$meshprobe"
# The cache of pytest and compiled modules stay out of the repository.
export PYTHONDONTWRITEBYTECODE=1
"$tools_venv/bin/python" -m pytest --quiet --no-header -p no:cacheprovider --rootdir "$work" --asyncio-mode=auto \
  -o asyncio_default_fixture_loop_scope=function \
  "$root/tests/e2e/lsp.py" >"$work/log" 2>&1 || fail_with "$work/log" "pytest-lsp reports failures"
has "$work/log" ' passed'
for word in failed skipped; do lacks "$work/log" " $word"; done
pass "language server: $(tail -n 1 "$work/log") with pytest-lsp"

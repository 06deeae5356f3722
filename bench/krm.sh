#!/usr/bin/env bash
# What the function costs in a build of kustomize, against a pipe into the command line.
#
#   bash bench/krm.sh [DEPLOYMENTS] [ROUNDS]     1000 and 7
#
# Three builds take turns, so that other work on the machine meets all of them: without meshprobe, with the
# function, and with the pipe. Prints medians of wall-clock and CPU time, and their ratio to the build without.
# This is not a test: it checks only that the two results are equal.
# shellcheck source=../tests/e2e/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/../tests/e2e/common.bash"
find_meshprobe release

python -B "$root/bench/krm.py" "$root/tests/e2e/kustomize.py" "$meshprobe" "$work" "${1:-1000}" "${2:-7}"

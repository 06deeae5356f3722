#!/usr/bin/env bash
# Compares the cost of the KRM function in a kustomize build with that of a pipe into the command line.
#
#   bash bench/krm.sh [DEPLOYMENTS] [ROUNDS]     default: 1000 and 7
#
# Three builds alternate, so that other work on the machine affects all of them: without meshprobe, with the
# function, and with the pipe. Prints medians of wall-clock and CPU time, and their ratio to the build without.
# This is not a test: it checks only that the two results are equal.
# shellcheck source=../tests/e2e/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/../tests/e2e/common.bash"
find_meshprobe release

python -B "$root/bench/krm.py" "$root/tests/e2e/kustomize.py" "$meshprobe" "$work" "${1:-1000}" "${2:-7}"

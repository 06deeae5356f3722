#!/usr/bin/env bash
# Compares the cost of `meshprobe diff` with that of `meshprobe check`, as ratios within one run.
#
#   bash bench/diff.sh [TREE] [ROUNDS]     TREE: manifests to read (default: generated), ROUNDS: 5
#
# The tree becomes a repository, and a commit changes 20 of its files. Every round runs each command once, as a new
# process over files that are in the page cache. Prints medians of the CPU time, which includes that of the git processes
# that meshprobe starts, and of the peak memory, each with its ratio to `check`; then the same for ten copies of the
# tree. This is not a test: it never fails because of a figure.
# shellcheck source=../tests/e2e/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/../tests/e2e/common.bash"
find_meshprobe release

tree="${1:-}"
rounds="${2:-5}"
if [ -z "$tree" ]; then
  tree="$work/made"
  python "$root/bench/tree.py" "$tree" 3000
fi

python "$root/bench/diff.py" --meshprobe "$meshprobe" --rounds "$rounds" --work "$work" "$tree"

#!/usr/bin/env bash
# Compares the cost of `meshprobe check` with that of similar tools, as ratios within one run.
#
#   bash bench/compare.sh [TREE] [ROUNDS]     TREE: manifests to read (default: generated), ROUNDS: 5
#
# Every round runs each program once, as a new process over files that are in the page
# cache. The floor is `find … | xargs cat`, the minimum cost of reading the files. Prints medians of CPU time,
# wall-clock time and peak memory, then how the costs of meshprobe grow with the tree. This is not a test: it
# never fails because of a figure.
#
# .ci/tools.sh installs kubeconform and kube-score from the Go module proxy. This script tries to install
# kube-linter, and uses istioctl and polaris if they are installed. It lists the missing programs.
# shellcheck source=../tests/e2e/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/../tests/e2e/common.bash"
find_meshprobe release

tree="${1:-}"
rounds="${2:-5}"
if [ -z "$tree" ]; then
  tree="$work/made"
  python "$root/bench/tree.py" "$tree" 3000
fi

if ! command -v kube-linter >/dev/null; then
  # shellcheck disable=SC2154 # .ci/tools.sh sets it
  peer="$tools_dir/kube-linter-v0.7.6"
  [ -x "$peer/kube-linter" ] ||
    GOBIN="$peer" CGO_ENABLED=0 go install golang.stackrox.io/kube-linter/cmd/kube-linter@v0.7.6 \
      >"$work/kube-linter.log" 2>&1 || printf 'kube-linter cannot be installed here: left out\n'
  PATH="$peer:$PATH"
fi
python "$root/tests/e2e/schemas.py" v1.33.0 "$work/schemas"

python "$root/bench/compare.py" --meshprobe "$meshprobe" --schemas "$work/schemas" --rounds "$rounds" \
  --work "$work" "$tree"

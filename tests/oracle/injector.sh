#!/usr/bin/env bash
# Compares meshprobe with a program that runs the injector of a mesh. docs/oracles.md describes it.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: bash tests/oracle/injector.sh [OPTIONS] MESH RELEASE PROGRAM

Compares meshprobe with PROGRAM, which runs the injector of a release of MESH, such as `kuma 3.0`.

Options:
  --meshprobe FILE         The program to test [default: target/release/meshprobe]
  --output DIR             Write differing cases and their issue texts to this folder [default: oracle-MESH]
  --seed N, --count N      The seed and the number of generated pods [default: 1, 2000]
  --record REF COMMIT      If nothing differs, record the release in crates/mesh/src/mesh/MESH/proven.csv, with its tag and commit

Exit codes: 0 equal, 1 different, 2 wrong usage
USAGE
}

fail() {
  echo "error: $*" >&2
  exit 2
}

root=$(cd "$(dirname "$0")/../.." && pwd)
meshprobe=$root/target/release/meshprobe
output='' compare=()
while [[ ${1-} == -* ]]; do
  values=1
  case $1 in
    -h | --help) usage && exit 0 ;;
    --record) values=2 ;;
  esac
  [[ $# -gt $values ]] || fail "option \`$1\` requires $values values"
  case $1 in
    --meshprobe) meshprobe=$2 ;;
    --output) output=$2 ;;
    --seed | --count) compare+=("$1" "$2") ;;
    --record) compare+=("$1" "$2" "$3") ;;
    *) fail "unknown option \`$1\`" ;;
  esac
  shift $((values + 1))
done
[[ $# -eq 3 ]] || { usage >&2 && exit 2; }
[[ -x $meshprobe ]] || fail "\`$meshprobe\` is not a program; build it, or use --meshprobe"
[[ -x $3 ]] || fail "\`$3\` is not a program"
export PYTHONPATH=$root/tests/oracle/common
exec python3 "$root/tests/oracle/injectors/oracle.py" --mesh "$1" --release "$2" --program "$3" \
  --meshprobe "$meshprobe" --output "${output:-oracle-$1}" ${compare[@]+"${compare[@]}"}

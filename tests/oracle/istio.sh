#!/usr/bin/env bash
# Compares meshprobe with the sidecar injector and the agent of Istio releases. docs/oracles.md describes it.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: bash tests/oracle/istio.sh [OPTIONS] CHECKOUT [REF...]

Compares meshprobe with Istio's injector at each REF of the Git repository CHECKOUT [default: its newest tag].

Options:
  --meshprobe FILE         The program to test [default: target/release/meshprobe]
  --output DIR             Write differing cases and their issue texts to this folder [default: oracle-istio]
  --seed N, --count N      The seed and the number of generated pods [default: 1, 2000]
  --module NAME=SOURCE     Take a Go module from another source (repeatable): a version such as v1.31.1, or a Git
                           repository that contains the version that the REF requires
  --record                 Record each REF without a difference in crates/mesh/src/mesh/istio/proven.csv, as a proven release
  --quote-proxy-metadata   Quote the values of proxyMetadata in the injection template. Succeeds if the annotation
                           form fails and the container forms pass

Exit codes: 0 equal, 1 different, 2 wrong usage or a failed build
USAGE
}

fail() {
  echo "error: $*" >&2
  exit 2
}

root=$(cd "$(dirname "$0")/../.." && pwd)
meshprobe=$root/target/release/meshprobe
output=oracle-istio
modules=() compare=()
record=false
while [[ ${1-} == -* ]]; do
  case $1 in
    -h | --help) usage && exit 0 ;;
    --quote-proxy-metadata) compare+=("$1") && shift && continue ;;
    --record) record=true && shift && continue ;;
  esac
  [[ $# -ge 2 ]] || fail "option \`$1\` requires a value"
  case $1 in
    --meshprobe) meshprobe=$2 ;;
    --output) output=$2 ;;
    --seed | --count) compare+=("$1" "$2") ;;
    --module) modules+=("$2") ;;
    *) fail "unknown option \`$1\`" ;;
  esac
  shift 2
done
[[ $# -ge 1 ]] || { usage >&2 && exit 2; }
checkout=$1
shift
[[ -x $meshprobe ]] || fail "\`$meshprobe\` is not a program; build it, or use --meshprobe"
git -C "$checkout" rev-parse --git-dir >/dev/null || fail "\`$checkout\` is not a Git repository"
refs=("$@")
if [[ $# -eq 0 ]]; then
  # -rc sorts before the release, as in semantic versioning.
  refs=("$(git -C "$checkout" -c versionsort.suffix=- tag --sort=-version:refname --list '[0-9]*' | head -n 1)")
  [[ -n ${refs[0]} ]] || fail "\`$checkout\` has no tags; name a ref"
fi

export PYTHONPATH=$root/tests/oracle/common
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Exports the ref of a Git repository to a folder. The repository does not change.
export_tree() {
  mkdir -p "$3"
  git -C "$1" archive "$2" | tar -x -C "$3"
}

# Replaces module NAME by SOURCE in the go.mod of the current folder.
replace_module() {
  local name=$1 source=$2 version
  if [[ $source == v[0-9]* ]]; then
    go mod edit -replace "$name=$name@$source"
    return
  fi
  version=$(go mod edit -print | awk -v name="$name" '$1 == name { print $2; exit }')
  # A pseudo-version ends with the commit.
  [[ $version =~ -([0-9a-f]{12})$ ]] && version=${BASH_REMATCH[1]}
  export_tree "$source" "$version" "$PWD/../modules/$name"
  go mod edit -replace "$name=$PWD/../modules/$name"
}

# Builds the program against the ref, with the requirements of the ref.
build() {
  local tree=$work/$1/tree build=$work/$1/build module
  export_tree "$checkout" "$2" "$tree" || return
  mkdir -p "$build"
  cp "$root"/tests/oracle/istio/*.go "$build"
  cp "$tree/go.sum" "$build"
  sed "s|^module istio.io/istio\$|module meshprobe.dev/oracle/istio|" "$tree/go.mod" >"$build/go.mod"
  (
    cd "$build"
    go mod edit -require istio.io/istio@v0.0.0 -replace "istio.io/istio=$tree"
    for module in ${modules[@]+"${modules[@]}"}; do
      replace_module "${module%%=*}" "${module#*=}"
    done
    # Without -trimpath, the build cache depends on the temporary folder.
    GOWORK=off go build -mod=mod -trimpath -o "$work/$1/oracle" .
  )
}

status=0
for index in "${!refs[@]}"; do
  ref=${refs[$index]}
  git -C "$checkout" rev-parse --quiet --verify "$ref^{commit}" >/dev/null || fail "unknown ref \`$ref\`"
  echo "== Istio $ref ($(git -C "$checkout" log -1 --format='%h, %cs' "$ref"))"
  build "$index" "$ref" || fail "cannot build against \`$ref\`"
  code=0
  python3 "$root/tests/oracle/istio/oracle.py" --oracle "$work/$index/oracle" --tree "$work/$index/tree" \
    --meshprobe "$meshprobe" --fixtures "$root/fixtures/istio" --output "$output/$ref" ${compare[@]+"${compare[@]}"} || code=$?
  [[ $code -le 1 ]] || exit 2
  if [[ $code -ne 0 ]]; then
    status=1
  elif $record; then
    python3 "$root/tests/oracle/istio/record.py" "$root/crates/mesh/src/mesh/istio/proven.csv" "$work/$index/tree" "$ref" \
      "$(git -C "$checkout" rev-parse --short=12 "$ref")" "$output/$ref/pods"
  fi
  rm -rf "${work:?}/$index"
done
exit "$status"

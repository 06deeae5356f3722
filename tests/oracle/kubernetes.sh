#!/usr/bin/env bash
# Compares meshprobe with the API server of Kubernetes:
#
#   bash tests/oracle/kubernetes.sh [--seed N] [--count N] [--out FOLDER] [--record] [VERSION...]
#   bash tests/oracle/kubernetes.sh --prober FILE [VERSION]
#
# Builds tests/oracle/kubernetes against each VERSION of the module k8s.io/kubernetes, such as v1.36.3, or `latest`.
# The default is the version in its go.mod. The program generates handlers (at least 5,000 by default), defaults and
# validates them with the code of the API server, and compares the verdicts with `check` and `predict`.
#
#   --seed, --count   the handlers that are generated; defaults: 1, 6000
#   --out             the folder for minimised differences, one folder for each version; default: target/oracle
#   --record          writes fixtures/kubernetes/handlers.txt, which tests/it/kubernetes.rs replays
#
# The second form only builds the prober of the kubelet, for `tests/live/run.py --prober FILE`. It requires Kubernetes 1.36
# or later.
#
# Environment: MESHPROBE_BIN, the binary; otherwise the build of the profile MESHPROBE_PROFILE (`gate`).
# Exit codes: 0 no difference; 1 differences; 2 the comparison failed.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
sources="$root/tests/oracle/kubernetes"
target="${CARGO_TARGET_DIR:-$root/target}"
recorded=5200

fail() {
  printf 'error: %s\n' "$*" >&2
  exit 2
}

out="$target/oracle"
prober=
arguments=()
versions=()
while [ $# -gt 0 ]; do
  case "$1" in
    --seed | --count | --out | --prober)
      [ $# -gt 1 ] || fail "\`$1\` requires a value"
      case "$1" in
        --out) out="$2" ;;
        --prober) prober="$2" ;;
        *) arguments+=("$1" "$2") ;;
      esac
      shift
      ;;
    --record) arguments+=(--count "$recorded" --record "$root/fixtures/kubernetes/handlers.txt") ;;
    v* | latest) versions+=("$1") ;;
    *) fail "unexpected argument \`$1\`" ;;
  esac
  shift
done

meshprobe="${MESHPROBE_BIN:-$target/${MESHPROBE_PROFILE:-gate}/meshprobe}"
[ -n "$prober" ] || [ -x "$meshprobe" ] || fail "no binary at $meshprobe; run \`cargo build --locked --profile gate\` first"
command -v go >/dev/null || fail 'go is not on PATH'
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
# Go runs in the folder of the sources.
case "$prober" in /* | '') ;; *) prober="$PWD/$prober" ;; esac

# newest: prints the newest release of Kubernetes.
newest() {
  (cd "$sources" && go list -m -versions k8s.io/kubernetes) | tr ' ' '\n' | grep -E '^v[0-9.]+$' | sort -V | tail -n 1
}

# select_version VERSION FOLDER: writes the go.mod of the program for a version. The modules that Kubernetes contains
# in `staging` have the same minor and patch version.
select_version() {
  local version="$1" folder="$2" module
  module="$(cd "$work" && go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')"
  [ -f "$module" ] || fail "no module k8s.io/kubernetes $version"
  {
    printf 'module meshprobe.dev/tests/oracle/kubernetes\n\n'
    grep '^go ' "$module"
    printf '\nrequire k8s.io/kubernetes %s\n\nreplace (\n' "$version"
    sed -n "s#^[[:space:]]*\(k8s.io/[a-z-]*\) => ./staging.*#\t\1 => \1 v0.${version#v1.}#p" "$module"
    printf ')\n'
  } >"$folder/go.mod"
  (cd "$folder" && go mod tidy) >"$work/tidy.log" 2>&1 || { cat "$work/tidy.log" >&2; fail "go mod tidy: $version"; }
}

locked="$(awk '$1 == "require" && $2 == "k8s.io/kubernetes" { print $3 } $1 == "k8s.io/kubernetes" { print $2 }' \
  "$sources/go.mod" | grep '^v')"
[ "${#versions[@]}" -gt 0 ] || versions=("$locked")
code=0
for version in "${versions[@]}"; do
  [ "$version" != latest ] || version="$(newest)"
  folder="$sources"
  if [ "$version" != "$locked" ]; then
    folder="$work/$version"
    cp -r "$sources" "$folder"
    select_version "$version" "$folder"
  fi
  if [ -n "$prober" ]; then
    (cd "$folder" && CGO_ENABLED=0 go build -o "$prober" ./prober) || fail "the prober does not build with $version"
    continue
  fi
  (cd "$folder" && CGO_ENABLED=0 go build -o "$work/kubernetes" .) || fail "the program does not build with $version"
  rm -rf "${out:?}/$version"
  status=0
  "$work/kubernetes" --out "$out/$version" "${arguments[@]}" "$meshprobe" || status=$?
  [ "$status" -le 1 ] || exit 2
  [ "$status" = 0 ] || code=1
done
if [ "$code" != 0 ]; then printf 'the differences are in %s\n' "$out"; fi
exit "$code"

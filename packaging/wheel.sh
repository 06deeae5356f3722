#!/usr/bin/env bash
# Builds the wheel from this checkout: packaging/wheel.sh FOLDER [OPTION OF MATURIN...]
#
# Needs Rust and maturin, and Python's `wheel` package for static binaries. The README and the licences are at the
# root, but maturin packs only files next to its pyproject.toml, so they are copied there during the build.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
[ $# -ge 1 ] || { printf 'usage: packaging/wheel.sh FOLDER [OPTION OF MATURIN...]\n' >&2; exit 2; }
mkdir -p "$1"
to="$(cd "$1" && pwd)"
shift
[ $# -gt 0 ] || set -- --release

texts=(README.md LICENSE-MIT LICENSE-APACHE)
cleanup() {
  (cd "$root/packaging/pypi" && rm -f "${texts[@]}")
}
trap cleanup EXIT
(cd "$root" && cp "${texts[@]}" packaging/pypi/)
cd "$root/packaging/pypi"
maturin build --quiet --out "$to" "$@"

# A static binary runs with every libc. Its wheel must declare that; otherwise pip accepts it on Alpine only.
case " $* " in
  *-linux-musl*)
    machine="$(printf '%s\n' "$@" | sed -n 's/^\([^-]*\)-unknown-linux-musl$/\1/p')"
    python3 -m wheel tags --remove \
      --platform-tag "manylinux2014_$machine.manylinux_2_17_$machine.musllinux_1_1_$machine" "$to"/*musllinux*.whl
    ;;
esac

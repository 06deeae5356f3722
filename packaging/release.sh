#!/usr/bin/env bash
# What the release workflow has to decide, so that it can be tried without one:
#
#   packaging/release.sh agrees TAG           every file that names the version names this one
#   packaging/release.sh collect TAG FOLDER   writes SHA256SUMS, meshprobe.rb and NOTES.md into it
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

usage() {
  printf 'usage: packaging/release.sh agrees TAG | collect TAG FOLDER\n' >&2
  exit 2
}

# The part of the changelog about one version, without its heading.
notes() {
  awk -v heading="## [$1]" 'index($0, "## [") == 1 { here = index($0, heading) == 1; next } here' "$root/CHANGELOG.md"
}

agrees() {
  local version="$1" wrong=0
  grep -qxF "version = \"$version\"" "$root/Cargo.toml" || { printf 'Cargo.toml has another version\n' >&2; wrong=1; }
  grep -qxF "dependencies = [\"meshprobe==$version\"]" "$root/pyproject.toml" ||
    { printf 'pyproject.toml brings another version\n' >&2; wrong=1; }
  [ -n "$(notes "$version" | tr -d '[:space:]')" ] ||
    { printf 'CHANGELOG.md says nothing about %s\n' "$version" >&2; wrong=1; }
  return "$wrong"
}

collect() {
  local version="$1" to="$2"
  (cd "$to" && sha256sum -- *.tar.gz *.whl >SHA256SUMS)
  bash "$root/packaging/homebrew.sh" "$version" "$to/SHA256SUMS" >"$to/meshprobe.rb"
  notes "$version" >"$to/NOTES.md"
}

case "${1:-}-$#" in
  agrees-2) agrees "${2#v}" ;;
  collect-3) collect "${2#v}" "$3" ;;
  *) usage ;;
esac

#!/usr/bin/env bash
# Prints the Homebrew formula of a release: packaging/homebrew.sh VERSION SHA256SUMS
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
[ $# = 2 ] || { printf 'usage: packaging/homebrew.sh VERSION SHA256SUMS\n' >&2; exit 2; }
version="$1" sums="$2"
edits=(-e "s|@URL@|https://github.com/meshprobe/meshprobe/releases/download/v$version|" -e "s|@VERSION@|$version|")
for target in aarch64-apple-darwin x86_64-apple-darwin aarch64-unknown-linux-musl x86_64-unknown-linux-musl; do
  sum="$(awk -v name="meshprobe-$version-$target.tar.gz" '$2 == name { print $1 }' "$sums")"
  [ -n "$sum" ] || { printf 'there is no checksum for %s\n' "$target" >&2; exit 1; }
  edits+=(-e "s|@SHA256 $target@|$sum|")
done
sed "${edits[@]}" "$root/packaging/homebrew/meshprobe.rb.in"

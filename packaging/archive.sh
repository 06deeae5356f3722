#!/usr/bin/env bash
# Packs a binary with its documentation, completions and manual page into the archive of a release:
#
#   packaging/archive.sh BINARY TARGET FOLDER
#
# writes FOLDER/meshprobe-VERSION-TARGET.tar.gz; the same binary gives the same bytes. The names are those
# that action/install.sh, cargo-binstall (Cargo.toml) and the formula in packaging/homebrew look for.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
[ $# = 3 ] || { printf 'usage: packaging/archive.sh BINARY TARGET FOLDER\n' >&2; exit 2; }
binary="$1" target="$2" to="$3"
mkdir -p "$to"
to="$(cd "$to" && pwd)"

version="$("$binary" --version)"
version="${version#meshprobe }"
name="meshprobe-$version-$target"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
stage="$scratch/$name"
mkdir -p "$stage/completions" "$stage/man"

suffix=''
case "$target" in *windows*) suffix=.exe ;; esac
cp "$binary" "$stage/meshprobe$suffix"
chmod 755 "$stage/meshprobe$suffix"
cp "$root/README.md" "$root/CHANGELOG.md" "$root/LICENSE-MIT" "$root/LICENSE-APACHE" "$stage/"
"$binary" completions bash >"$stage/completions/meshprobe.bash"
"$binary" completions zsh >"$stage/completions/_meshprobe"
"$binary" completions fish >"$stage/completions/meshprobe.fish"
"$binary" completions powershell >"$stage/completions/_meshprobe.ps1"
"$binary" man >"$stage/man/meshprobe.1"

# Without times and owners, and in a fixed order.
find "$stage" -exec touch -t 200001010000 {} +
(cd "$scratch" && find "$name" -type f | LC_ALL=C sort >files)
case "$(tar --version)" in
  *GNU*) owners=(--owner=0 --group=0 --numeric-owner) ;;
  *) owners=(--uid 0 --gid 0) ;;
esac
tar -C "$scratch" "${owners[@]}" -cf - -T "$scratch/files" | gzip -n9 >"$to/$name.tar.gz"
printf '%s\n' "$to/$name.tar.gz"

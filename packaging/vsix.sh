#!/usr/bin/env bash
# Packs the VS Code extension with a binary:
#
#   packaging/vsix.sh BINARY TARGET FOLDER
#
# writes FOLDER/meshprobe-VERSION-PLATFORM.vsix, and prints its path. TARGET is a target of Rust; PLATFORM is what
# VS Code calls it. Needs Node.js, and the packages of editors/vscode (`npm ci --ignore-scripts` there).
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
[ $# = 3 ] || { printf 'usage: packaging/vsix.sh BINARY TARGET FOLDER\n' >&2; exit 2; }
binary="$1" target="$2" to="$3"

suffix=''
case "$target" in
  x86_64-unknown-linux-*) platform=linux-x64 ;;
  aarch64-unknown-linux-*) platform=linux-arm64 ;;
  x86_64-apple-darwin) platform=darwin-x64 ;;
  aarch64-apple-darwin) platform=darwin-arm64 ;;
  x86_64-pc-windows-*) platform=win32-x64 suffix=.exe ;;
  *) printf "error: VS Code has no platform for the target \`%s\`\n" "$target" >&2; exit 2 ;;
esac

extension="$root/editors/vscode"
mkdir -p "$to"
to="$(cd "$to" && pwd)"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/server"
cp -R "$extension/package.json" "$extension/README.md" "$extension/icon.png" "$extension/.vscodeignore" "$extension/src" "$scratch/"
cp "$root/LICENSE-MIT" "$root/LICENSE-APACHE" "$scratch/"
cp "$binary" "$scratch/server/meshprobe$suffix"
chmod 755 "$scratch/server/meshprobe$suffix"
# A copy, because vsce must not follow a link out of the folder that it packs.
ln -s "$extension/node_modules" "$scratch/node_modules"

version="$(node -p 'require(process.argv[1]).version' "$scratch/package.json")"
file="$to/meshprobe-$version-$platform.vsix"
# Without a date of its own, the same binary gives the same bytes.
(cd "$scratch" && SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-946684800}" node_modules/.bin/vsce package --no-dependencies \
  --skip-license --target "$platform" --out "$file") >&2
printf '%s\n' "$file"

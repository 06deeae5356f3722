#!/usr/bin/env bash
# Tests the VS Code extension: types, lints and unit tests, and the package with the binary.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
find_meshprobe
extension="$root/editors/vscode"
version="$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml" | head -n 1)"

# 1. The packages that the lock file names. A folder that a developer installed stays.
if [ ! -d "$extension/node_modules" ] || [ -L "$extension/node_modules" ]; then
  ln -sfn "$tools_vscode/node_modules" "$extension/node_modules"
fi
(cd "$extension" && npm run --silent lint) >"$work/log" 2>&1 || fail_with "$work/log" "tsc or eslint"
pass "extension: types and lints"

# 2. The unit tests, with the lines of a real report for the problem matcher.
"$meshprobe" check --isolated --no-context --fail-on never --output-format concise "$root/fixtures/demo" \
  "$root/fixtures/rules" >"$work/concise" 2>/dev/null || fail "meshprobe check failed"
for severity in error warning note; do has "$work/concise" ": ${severity}["; done
(cd "$extension" && MESHPROBE_CONCISE_REPORT="$work/concise" npm run --silent test) >"$work/log" 2>&1 ||
  fail_with "$work/log" "a unit test failed"
lacks "$work/log" '# tests 0'
pass "extension: unit tests, problem matcher on $(wc -l <"$work/concise") lines"

# 3. The package: the same bytes for the same binary, and nothing but the extension.
for copy in a b; do
  bash "$root/packaging/vsix.sh" "$meshprobe" x86_64-unknown-linux-musl "$work/$copy" >"$work/path" 2>"$work/log" ||
    fail_with "$work/log" "the extension was not packed"
  lacks "$work/log" 'WARNING'
done
[ "$(cat "$work/path")" = "$work/b/meshprobe-$version-linux-x64.vsix" ] || fail "the package is $(cat "$work/path")"
cmp "$work/a/meshprobe-$version-linux-x64.vsix" "$work/b/meshprobe-$version-linux-x64.vsix" ||
  fail "two packages of one binary differ"
python3 - "$(cat "$work/path")" "$work/unpacked" >"$work/log" <<'PYTHON'
import json
import re
import sys
import zipfile
from pathlib import Path

package = zipfile.ZipFile(sys.argv[1])
files = {info.filename: info for info in package.infolist()}
expected = {
    "LICENSE-APACHE", "LICENSE-MIT", "dist/extension.js", "icon.png", "package.json", "readme.md", "server/meshprobe",
}
found = {name.removeprefix("extension/") for name in files if name.startswith("extension/")}
assert found == expected, found
assert (files["extension/server/meshprobe"].external_attr >> 16) & 0o111 == 0o111, "the server is not executable"
manifest = package.read("extension.vsixmanifest").decode()
assert re.search(r'TargetPlatform="linux-x64"', manifest), manifest
assert 'Publisher="meshprobe"' in manifest, manifest
print(json.loads(package.read("extension/package.json"))["version"])
Path(sys.argv[2]).write_bytes(package.read("extension/server/meshprobe"))
PYTHON
[ "$(cat "$work/log")" = "$version" ] || fail "the extension has another version than Cargo.toml"
chmod +x "$work/unpacked"
[ "$("$work/unpacked" --version)" = "meshprobe $version" ] || fail "the package contains another binary"
status 2 "$work/log" bash "$root/packaging/vsix.sh" "$meshprobe" riscv64gc-unknown-linux-gnu "$work/c"
has "$work/log" 'no platform for the target'
pass "package: complete, reproducible, with the binary"

#!/usr/bin/env bash
# Tests what users install: the wheel in a new virtual environment, and the archive of a release.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
find_meshprobe
version="$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml" | head -n 1)"

# 1. The wheel.
find_wheel
[ ! -e "$root/packaging/pypi/README.md" ] || fail "the texts of the wheel were left in packaging/pypi"
wheel=("$wheels"/*.whl)
case "${wheel[0]}" in
  */"meshprobe-$version-py3-none-"*.whl) ;;
  *) fail "the wheel is named ${wheel[0]}" ;;
esac
virtualenv --quiet "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-index "${wheel[0]}" >"$work/log" 2>&1 ||
  fail_with "$work/log" "the wheel was not installed"
[ "$("$work/venv/bin/meshprobe" --version)" = "meshprobe $version" ] || fail "the wheel contains another version"
status 1 "$work/log" "$work/venv/bin/meshprobe" check --isolated --no-context --output-format concise "$root/fixtures/demo"
has "$work/log" 'error[strict-probe-not-rewritten]'
"$work/venv/bin/python" - >"$work/log" <<'PYTHON'
from importlib.metadata import distribution

meshprobe = distribution("meshprobe")
print(meshprobe.metadata["License-Expression"])
print(*sorted(str(file) for file in meshprobe.files), sep="\n")
assert meshprobe.metadata.get_payload().startswith("# meshprobe"), "no README"
PYTHON
has "$work/log" 'MIT OR Apache-2.0'
has "$work/log" 'licenses/LICENSE-MIT'
has "$work/log" 'licenses/LICENSE-APACHE'
pass "wheel: built, installed in a new environment, and run"

# 2. The package that pre-commit installs requires the wheel of the same version.
has "$root/pyproject.toml" "dependencies = [\"meshprobe==$version\"]"
pass "pyproject.toml: names this version"

# 3. The archive: reproducible, complete, and found by the programs that download it.
platform="$(RUNNER_OS=Linux RUNNER_ARCH=X64 bash -c 'source "$1/action/install.sh" && platform' _ "$root")"
bash "$root/packaging/archive.sh" "$meshprobe" "$platform" "$work/a" >"$work/log"
bash "$root/packaging/archive.sh" "$meshprobe" "$platform" "$work/b" >>"$work/log"
name="meshprobe-$version-$platform"
cmp "$work/a/$name.tar.gz" "$work/b/$name.tar.gz" || fail "two archives of one binary differ"
mkdir "$work/unpacked"
tar -C "$work/unpacked" -xzf "$work/a/$name.tar.gz"
for file in meshprobe README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE completions/meshprobe.bash \
  completions/_meshprobe completions/meshprobe.fish completions/_meshprobe.ps1 man/meshprobe.1; do
  [ -s "$work/unpacked/$name/$file" ] || fail "the archive does not contain $file"
done
[ "$("$work/unpacked/$name/meshprobe" --version)" = "meshprobe $version" ] || fail "the archive contains another version"
bash -n "$work/unpacked/$name/completions/meshprobe.bash"
has "$work/unpacked/$name/man/meshprobe.1" '.SH NAME'
pass "archive: complete and reproducible"

# 4. The formula has a checksum for each of its targets, and does not contain placeholders.
for target_of in aarch64-apple-darwin x86_64-apple-darwin aarch64-unknown-linux-musl x86_64-unknown-linux-musl; do
  printf '%s  meshprobe-%s-%s.tar.gz\n' "$(printf '%s' "$target_of" | sha256sum | cut -d ' ' -f 1)" "$version" "$target_of"
done >"$work/SHA256SUMS"
bash "$root/packaging/homebrew.sh" "$version" "$work/SHA256SUMS" >"$work/meshprobe.rb"
lacks "$work/meshprobe.rb" '@'
[ "$(grep -c 'sha256 "[0-9a-f]\{64\}"' "$work/meshprobe.rb")" = 4 ] || fail_with "$work/meshprobe.rb" "checksums are missing"
sed -i.bak '/x86_64-apple/d' "$work/SHA256SUMS"
status 1 "$work/log" bash "$root/packaging/homebrew.sh" "$version" "$work/SHA256SUMS"
pass "formula: complete; refused if a checksum is missing"

# 5. The logic of the release workflow.
status 1 "$work/log" bash "$root/packaging/release.sh" agrees v99.0.0
has "$work/log" 'Cargo.toml has another version'
has "$work/log" 'pyproject.toml requires another version'
has "$work/log" 'CHANGELOG.md has no section for 99.0.0'
mkdir -p "$work/copy"
cp -R "$root/packaging" "$root/docs" "$root/examples" "$root/README.md" "$root/Cargo.toml" "$root/Cargo.lock" \
  "$root/pyproject.toml" "$work/copy/"
mkdir -p "$work/copy/editors/vscode"
cp "$root/editors/vscode/package.json" "$work/copy/editors/vscode/"
printf '# Changelog\n\n## [Unreleased]\n\n- later\n\n## [%s] - 2000-01-01\n\n- now\n\n## [0.0.1]\n\n- before\n' "$version" \
  >"$work/copy/CHANGELOG.md"
status 0 "$work/log" bash "$work/copy/packaging/release.sh" agrees "v$version"
# A forgotten version is reported, in every file from which users copy.
for place in Cargo.lock README.md docs/reports.md examples/kustomize-container/meshprobe.yaml \
  examples/argocd-build-options/repo-server.Dockerfile editors/vscode/package.json; do
  sed -i.bak "/meshprobe/,\$s/$version/0.0.9/" "$work/copy/$place"
  status 1 "$work/log" bash "$work/copy/packaging/release.sh" agrees "v$version"
  has "$work/log" "$place"
  mv "$work/copy/$place.bak" "$work/copy/$place"
done
mkdir "$work/dist"
for target_of in aarch64-apple-darwin x86_64-apple-darwin aarch64-unknown-linux-musl x86_64-unknown-linux-musl; do
  printf '%s' "$target_of" >"$work/dist/meshprobe-$version-$target_of.tar.gz"
done
cp "${wheel[0]}" "$work/dist/"
printf 'extension' >"$work/dist/meshprobe-$version-linux-x64.vsix"
status 0 "$work/log" bash "$work/copy/packaging/release.sh" collect "v$version" "$work/dist"
(cd "$work/dist" && sha256sum --check --quiet SHA256SUMS) || fail "the checksums do not match"
[ "$(tr -d '\n' <"$work/dist/NOTES.md")" = '- now' ] || fail_with "$work/dist/NOTES.md" "the notes differ from the changelog"
[ -s "$work/dist/meshprobe.rb" ] || fail "the formula is missing"
pass "release: refused if the versions in files differ, else collected"

# 6. The image of a release, with a docker that records its arguments.
for machine in x86_64 aarch64; do
  mkdir -p "$work/static/meshprobe-$version-$machine-unknown-linux-musl"
  printf '#!/bin/sh\n# %s\n' "$machine" >"$work/static/meshprobe-$version-$machine-unknown-linux-musl/meshprobe"
  tar -C "$work/static" -czf "$work/static/meshprobe-$version-$machine-unknown-linux-musl.tar.gz" \
    "meshprobe-$version-$machine-unknown-linux-musl"
done
mkdir "$work/fake"
cat >"$work/fake/docker" <<'FAKE'
#!/bin/sh
printf '%s\n' "$*" >>"$FAKE_SEEN"
case "$1 $2 $3" in
  'build '*) for folder; do :; done; cat "$folder/root/usr/local/bin/meshprobe-krm" >>"$FAKE_SEEN" ;;
  'buildx imagetools inspect') printf 'sha256:0123\n' ;;
esac
FAKE
chmod +x "$work/fake/docker"
PATH="$work/fake:$PATH" FAKE_SEEN="$work/seen" bash "$root/packaging/release.sh" image "v$version" "$work/static" \
  registry.example/meshprobe >"$work/out" 2>"$work/log" || fail_with "$work/log" "the image was not built"
[ "$(cat "$work/out")" = digest=sha256:0123 ] || fail_with "$work/out" "the digest is wrong"
name="registry.example/meshprobe:v$version"
for arch in amd64:x86_64 arm64:aarch64; do
  has "$work/seen" "build --platform linux/${arch%:*} --provenance=false --tag $name-${arch%:*} "
  has "$work/seen" "# ${arch#*:}"
  has "$work/seen" "push $name-${arch%:*}"
done
has "$work/seen" "buildx imagetools create --tag $name $name-amd64 $name-arm64"
pass "image: both architectures have one name"

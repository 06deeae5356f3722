#!/usr/bin/env bash
# The logic of the release workflow, so that it can be tested without a release:
#
#   packaging/release.sh agrees TAG               every file that names the version names this one
#   packaging/release.sh collect TAG FOLDER       writes SHA256SUMS, meshprobe.rb and NOTES.md into it
#   packaging/release.sh image TAG FOLDER IMAGE   pushes IMAGE:TAG, built from the static binaries in its archives, with
#                                                 docker; prints digest=sha256:…
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

usage() {
  printf 'usage: packaging/release.sh agrees TAG | collect TAG FOLDER | image TAG FOLDER IMAGE\n' >&2
  exit 2
}

# Prints the section of the changelog for one version, without its heading.
notes() {
  awk -v heading="## [$1]" 'index($0, "## [") == 1 { here = index($0, heading) == 1; next } here' "$root/CHANGELOG.md"
}

# Prints the versions that readers copy: of the action, the hooks, the pip requirement and the image.
snippets() {
  (cd "$root" && grep -rEno --include='*.md' --include='*.yaml' --include='*.Dockerfile' \
    '(meshprobe/meshprobe@v|rev: v|meshprobe==|meshprobe:v)[0-9][0-9A-Za-z.+-]*' README.md docs examples)
}

agrees() {
  local version="$1" wrong=0 place
  grep -qxF "version = \"$version\"" "$root/Cargo.toml" || { printf 'Cargo.toml has another version\n' >&2; wrong=1; }
  grep -A 1 -xF 'name = "meshprobe"' "$root/Cargo.lock" | grep -qxF "version = \"$version\"" ||
    { printf 'Cargo.lock has another version\n' >&2; wrong=1; }
  grep '^meshprobe-.* path = ' "$root/Cargo.toml" | grep -vF "version = \"=$version\"" >&2 &&
    { printf 'Cargo.toml requires another version of an inner crate\n' >&2; wrong=1; }
  while IFS= read -r place; do
    case "$place" in
      *"@v$version" | *"rev: v$version" | *"==$version" | *":v$version") ;;
      *) printf '%s: another version\n' "$place" >&2; wrong=1 ;;
    esac
  done < <(snippets)
  grep -qxF "dependencies = [\"meshprobe==$version\"]" "$root/pyproject.toml" ||
    { printf 'pyproject.toml requires another version\n' >&2; wrong=1; }
  # Indented by two spaces: the version of the extension, not of a package that it needs.
  grep -qx "  \"version\": \"$version\"," "$root/editors/vscode/package.json" ||
    { printf 'editors/vscode/package.json has another version\n' >&2; wrong=1; }
  [ -n "$(notes "$version" | tr -d '[:space:]')" ] ||
    { printf 'CHANGELOG.md has no section for %s\n' "$version" >&2; wrong=1; }
  return "$wrong"
}

collect() {
  local version="$1" to="$2"
  (cd "$to" && sha256sum -- *.tar.gz *.whl *.vsix >SHA256SUMS)
  bash "$root/packaging/homebrew.sh" "$version" "$to/SHA256SUMS" >"$to/meshprobe.rb"
  notes "$version" >"$to/NOTES.md"
}

# Pushes an image per architecture and one manifest for both. An empty image with a binary can be built on any machine.
image() {
  local version="$1" from="$2" name="$3" arch target scratch images=()
  scratch="$(mktemp -d)"
  # shellcheck disable=SC2064 # the folder of now
  trap "rm -rf '$scratch'" EXIT
  for arch in amd64:x86_64 arm64:aarch64; do
    target="meshprobe-$version-${arch#*:}-unknown-linux-musl"
    arch="${arch%:*}"
    tar -C "$scratch" -xzf "$from/$target.tar.gz" "$target/meshprobe"
    MESHPROBE_STATIC="$scratch/$target/meshprobe" bash "$root/packaging/build-image.sh" context "$scratch/$arch"
    docker build --platform "linux/$arch" --provenance=false --tag "$name:v$version-$arch" "$scratch/$arch" >&2
    docker push "$name:v$version-$arch" >&2
    images+=("$name:v$version-$arch")
  done
  docker buildx imagetools create --tag "$name:v$version" "${images[@]}" >&2
  printf 'digest=%s\n' "$(docker buildx imagetools inspect "$name:v$version" --format '{{.Manifest.Digest}}')"
}

case "${1:-}-$#" in
  agrees-2) agrees "${2#v}" ;;
  collect-3) collect "${2#v}" "$3" ;;
  image-4) image "${2#v}" "$3" "$4" ;;
  *) usage ;;
esac

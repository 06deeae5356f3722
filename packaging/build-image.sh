#!/usr/bin/env bash
# Builds the image of the KRM function.
#
#   packaging/build-image.sh binary        a static binary; prints its path
#   packaging/build-image.sh context DIR   the folder from which the image is built
#   packaging/build-image.sh [TAG]         the image, with docker or podman; TAG: meshprobe:vVERSION
#
# The binary is linked with musl if that target is installed (rustup target add
# ARCH-unknown-linux-musl), else with the C library of this machine. MESHPROBE_STATIC names a binary
# that is already built.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(dirname "$here")"
export PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin"

fail() {
  printf 'build-image: %s\n' "$*" >&2
  exit 1
}

target() {
  local arch
  arch="$(uname -m)"
  if rustup target list --installed 2>/dev/null | grep -qx "$arch-unknown-linux-musl"; then
    printf '%s-unknown-linux-musl\n' "$arch"
  else
    printf '%s-unknown-linux-gnu\n' "$arch"
  fi
}

binary() {
  local target file
  if [ -n "${MESHPROBE_STATIC:-}" ]; then
    file="$MESHPROBE_STATIC"
  else
    target="$(target)"
    # With --target, the flags apply to the program only, not to programs that run during the build.
    (cd "$root" && RUSTFLAGS='-C target-feature=+crt-static -C strip=symbols' \
      cargo build --profile dist --locked --target "$target" >&2)
    file="${CARGO_TARGET_DIR:-$root/target}/$target/dist/meshprobe"
  fi
  # A dynamic binary would start on this machine, but not in an empty image, which has no loader.
  if ldd "$file" 2>&1 | grep -q '=>'; then
    fail "$file is not static"
  fi
  printf '%s\n' "$file"
}

context() {
  local to="$1" file
  file="$(binary)"
  mkdir -p "$to/root/etc" "$to/root/usr/local/bin"
  cp "$here/Dockerfile" "$to/"
  # Functions run as `nobody`, and the runtime looks up that name in the image.
  printf 'nobody:x:65534:65534:nobody:/:/sbin/nologin\n' >"$to/root/etc/passwd"
  printf 'nobody:x:65534:\n' >"$to/root/etc/group"
  cp "$file" "$to/root/usr/local/bin/meshprobe"
  chmod 755 "$to/root/usr/local/bin/meshprobe"
  ln -sf meshprobe "$to/root/usr/local/bin/meshprobe-krm"
}

image() {
  local tag="$1" runtime work
  runtime="$(command -v docker || command -v podman)" || fail 'neither docker nor podman is on PATH'
  work="$(mktemp -d)"
  # shellcheck disable=SC2064 # the folder of now
  trap "rm -rf '$work'" EXIT
  context "$work"
  "$runtime" build --tag "$tag" "$work"
}

version() {
  sed -n 's/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml" | head -n 1
}

case "${1:-}" in
  binary) binary ;;
  context) context "${2:?the folder}" ;;
  *) image "${1:-meshprobe:v$(version)}" ;;
esac

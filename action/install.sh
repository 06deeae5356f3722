# Finds, downloads or builds the binary; sourced by run.sh, never run.
# shellcheck shell=bash

project=meshprobe/meshprobe
repository="https://github.com/$project"
releases="$repository/releases/download"

# Sets $binary. The output of a build goes directly to the log of the step.
find_binary() {
  case "$INPUT_VERSION" in
    auto) download_or_build ;;
    path)
      binary="$(command -v meshprobe)" || give_up 'version is "path", but meshprobe is not on PATH'
      ;;
    source) build_binary ;;
    [0-9]* | v[0-9]*) download_binary "${INPUT_VERSION#v}" ;;
    *) give_up "$wrong_version" ;;
  esac
}

wrong_version='version must be "auto", a release such as "0.1.0", "source" or "path"'

# Downloads the release of the ref at which the workflow uses the action. Without one, builds from source. An archive
# with a wrong checksum is never replaced by a build. A fork has no releases of its own here: its action runs its own code.
download_or_build() {
  local ref="${ACTION_REF:-}" version='' why
  if [ -z "$ref" ]; then
    why='the action is a local folder'
  elif [ "${ACTION_REPOSITORY:-}" != "$project" ]; then
    why="the action is that of ${ACTION_REPOSITORY:-another repository}"
  elif ! platform >/dev/null; then
    why="no release supports this runner ($(uname -sm))"
  else
    version="$(version_of_ref "$ref")"
    why="no release for ref $ref"
    if [ -n "$version" ] && is_commit "$ref" && ! has_sums "$version"; then
      # The files of a release can be replaced, the files of a commit cannot.
      why="the checkout of commit $ref contains no checksums of release $version"
      version=''
    fi
  fi
  if [ -n "$version" ] && is_released "$version"; then
    download_binary "$version"
  else
    printf 'meshprobe: building from source: %s\n' "$why"
    build_binary
  fi
}

# Prints the version of a ref: of a tag such as "v0.1.0" itself; of a commit, a branch or a tag such as "v0", that of the
# release tag of the same commit. Prints nothing if there is none.
version_of_ref() {
  if is_version "${1#v}"; then
    printf '%s' "${1#v}"
    return
  fi
  command -v git >/dev/null || return 0
  # The peeled line of an annotated tag, "^{}", follows the line of the tag object.
  run_git "${scratch:?}" --git-dir=none ls-remote "$repository" 2>/dev/null | awk -v ref="$1" '
    { name = $2; sub(/\^\{\}$/, "", name); commit[name] = $1 }
    END {
      wanted = ref
      if (("refs/heads/" ref) in commit) wanted = commit["refs/heads/" ref]
      if (("refs/tags/" ref) in commit) wanted = commit["refs/tags/" ref]
      for (name in commit)
        if (commit[name] == wanted && name ~ /^refs\/tags\/v[0-9]+\.[0-9]+\.[0-9]+$/) {
          sub(/^refs\/tags\/v/, "", name)
          print name
        }
    }' | sort -t . -k 1,1n -k 2,2n -k 3,3n | tail -n 1 || true
}

# Succeeds for the full name of a commit.
is_commit() {
  case "$1" in *[!0-9a-f]*) return 1 ;; esac
  [ "${#1}" -eq 40 ]
}

# Succeeds if this checkout contains the checksum of the archive of a release for this runner.
has_sums() {
  [ -n "$(sum_of "meshprobe-$1-$(platform).tar.gz" "${action:?}/action/SHA256SUMS")" ]
}

# Succeeds for a full version such as 0.1.0 or 0.1.0-rc.1.
is_version() {
  case "$1" in
    *[!0-9A-Za-z.+-]*) return 1 ;;
    [0-9]*.[0-9]*.[0-9]*) return 0 ;;
    *) return 1 ;;
  esac
}

# Succeeds if a release has a list of checksums, which is uploaded together with its archives, and downloads that list.
# Gives up after any other answer than "not found", for example if the server limits requests or cannot be reached.
is_released() {
  local code=0 status
  status="$(download "$1" SHA256SUMS 2>"${scratch:?}/curl")" || code=$?
  case "$code-$status" in
    0-*) return 0 ;;
    22-404) return 1 ;;
    *)
      cat "$scratch/curl" >&2
      give_up "cannot find out whether release $1 exists; set version to \"source\" or \"path\" to do without"
      ;;
  esac
}

build_binary() {
  command -v cargo >/dev/null || give_up 'the build from source needs cargo, which is not on PATH'
  local folder="${RUNNER_TEMP:-$scratch}/meshprobe-target"
  # Runs in the action's folder, so that its rust-toolchain.toml applies.
  (cd "${action:?}" && cargo build --release --locked --bin meshprobe --target-dir "$folder") ||
    give_up 'the build from source failed, see the log of this step'
  binary="$folder/release/meshprobe"
}

# Downloads an archive of a release, whose name contains the exact version, and verifies its
# checksum before unpacking it.
download_binary() {
  local version="$1" archive sum
  case "$version" in
    *[!0-9A-Za-z.+-]*) give_up "$wrong_version" ;;
  esac
  archive="meshprobe-$version-$(platform).tar.gz" || give_up "no release supports this runner ($(uname -sm)); use version \"source\""
  fetch "$version" "$archive"
  sum="$(expected_sum "$version" "$archive")"
  [ -n "$sum" ] || give_up "the checksum of $archive is not known"
  [ "$(sha256 "$scratch/$archive")" = "$sum" ] || give_up "the checksum of $archive differs from that of the release"
  # Uses the bare name, because tar reads a drive letter as the name of a machine.
  (cd "$scratch" && tar -xzf "$archive") || give_up "$archive cannot be unpacked"
  binary="$scratch/meshprobe-$version-$(platform)/meshprobe"
  [ -f "$binary" ] || binary="$binary.exe"
  [ -f "$binary" ] || give_up "$archive does not contain meshprobe"
}

fetch() {
  download "$1" "$2" >/dev/null || give_up "cannot download $2 of release $1"
}

# Downloads a file of a release, and prints the status of the last response. Returns 22 for a status of 400 or more.
download() {
  curl --fail --silent --show-error --location --proto '=https' --retry 3 --max-time 120 \
    --write-out '%{http_code}' --output "$scratch/$2" "$releases/v$1/$2"
}

# Prints the checksum of an archive. The list in this checkout has priority: a workflow that pins the
# action by commit also pins these checksums. A release that is newer than the checkout has its own list.
expected_sum() {
  local sum
  sum="$(sum_of "$2" "$action/action/SHA256SUMS")"
  if [ -z "$sum" ]; then
    fetch "$1" SHA256SUMS >&2
    sum="$(sum_of "$2" "$scratch/SHA256SUMS")"
  fi
  printf '%s' "$sum"
}

sum_of() {
  awk -v name="$1" '$2 == name || $2 == "*" name { print $1; exit }' "$2"
}

sha256() {
  if command -v sha256sum >/dev/null; then
    sha256sum "$1" | cut -d ' ' -f 1
  else
    shasum -a 256 "$1" | cut -d ' ' -f 1
  fi
}

# Prints the release target of this runner.
platform() {
  case "${RUNNER_OS:-$(uname -s)}-${RUNNER_ARCH:-$(uname -m)}" in
    Linux-X64 | Linux-x86_64) printf 'x86_64-unknown-linux-musl' ;;
    Linux-ARM64 | Linux-aarch64) printf 'aarch64-unknown-linux-musl' ;;
    macOS-X64 | Darwin-x86_64) printf 'x86_64-apple-darwin' ;;
    macOS-ARM64 | Darwin-arm64) printf 'aarch64-apple-darwin' ;;
    Windows-X64) printf 'x86_64-pc-windows-msvc' ;;
    *) return 1 ;;
  esac
}

#!/usr/bin/env bash
# Installs the tools of the gate, once per machine and version:
#
#   bash .ci/tools.sh       installs
#   source .ci/tools.sh     installs, and puts the tools on PATH
#
# The tools go to ${XDG_CACHE_HOME:-~/.cache}/meshprobe/tools, in folders named after the tool, its version
# and a hash of its lock file. All checkouts share them. Each is built in a scratch folder and then renamed,
# so two runs can install at the same time. On Debian and Ubuntu this also installs the packages iptables,
# iproute2, openssl, neovim, chromium, chromium-driver and fonts-dejavu-core.
#
# Requires Go, and Python 3 with its venv module. rustup installs Rust (rust-toolchain.toml).
#
# After sourcing:
#   $tools_dir             the folder of all tools
#   $tools_kustomize_5_5   the folder of the kustomize that kubectl 1.32 embeds; the current one is on PATH
#   $tools_venv            the virtual environment of .ci/requirements.txt
#   $tools_schemas         the folder of the schemas of report formats
#   $tools_vscode          the folder with the node_modules of editors/vscode; Node.js is in $tools_venv
#   $tools_axe             the folder of axe-core, which checks the accessibility of pages
# and MESHPROBE_KUSTOMIZE and MESHPROBE_KUBECTL_YAML are exported for the tests.

tools_root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
tools_dir="${XDG_CACHE_HOME:-$HOME/.cache}/meshprobe/tools"

# The crate and the Python package whose sources contain the schemas of SARIF and of JUnit (from Jenkins).
tools_schema_versions="sarif 0.8.0, junit 8.4.2"

# The Python package that contains axe-core 4.12.1.
tools_axe_package="axe-playwright-python==0.1.8"

tools_fail() {
  printf 'tools: %s\n' "$*" >&2
  return 1
}

# Prints the first eight digits of the hash of the given files.
tools_hash() {
  cat "$@" | git hash-object --stdin | cut -c 1-8
}

# tools_scratch NAME: prints a new folder on the same file system as the finished one.
tools_scratch() {
  mktemp -d "$tools_dir/.$1.XXXXXX"
}

# tools_publish SCRATCH FINISHED: renames the folder. If another run was faster, its result is used.
tools_publish() {
  # mktemp creates folders that only the owner can read; parts of the live proof run as another user.
  chmod 755 "$1"
  if [ -e "$2" ]; then rm -rf "$1"; else mv "$1" "$2"; fi
}

# tools_go_folder MODULE_FOLDER: prints the installation folder of the tool in this go.mod.
tools_go_folder() {
  local version
  version="$(awk '$1 == "tool" { tool = $2 }
    { module = $1 == "require" ? $2 : $1; release = $1 == "require" ? $3 : $2 }
    tool != "" && release ~ /^v/ && index(tool "/", module "/") == 1 { print release; exit }' "$1/go.mod")"
  [ -n "$version" ] || { tools_fail "$1/go.mod has no tool with a version"; return 1; }
  printf '%s/%s-%s-%s\n' "$tools_dir" "$(basename "$1")" "$version" "$(tools_hash "$1/go.mod" "$1/go.sum")"
}

# Builds the Go tools. Each folder of .ci/tools has one `tool` in its go.mod, and the locked versions in its go.sum.
# shellcheck disable=SC2034 # the end-to-end scripts use the folder of kustomize 5.5
tools_install_go() {
  local module folder name scratch
  for module in "$tools_root"/.ci/tools/*; do
    name="$(basename "$module")"
    folder="$(tools_go_folder "$module")" || return 1
    case "$name" in
      kustomize) MESHPROBE_KUSTOMIZE="$folder/kustomize" tools_path+="$folder:" ;;
      kustomize-5.5) tools_kustomize_5_5="$folder" ;;
      *) tools_path+="$folder:" ;;
    esac
    [ ! -d "$folder" ] || continue
    command -v go >/dev/null || { tools_fail "go is not on PATH; it is required to build $name"; return 1; }
    printf 'tools: installing %s\n' "$(basename "$folder")" >&2
    scratch="$(tools_scratch go)" || return 1
    (cd "$module" && GOFLAGS='' CGO_ENABLED=0 go build -o "$scratch/" "$(sed -n 's/^tool //p' go.mod)") ||
      { rm -rf "$scratch"; return 1; }
    tools_publish "$scratch" "$folder" || return 1
  done
}

# Builds the parsers of kubectl and kustomize, with which tests compare. The hash of the sources is part of the version.
tools_install_kubectl_yaml() {
  local sources="$tools_root/tests/kubectl_yaml" folder scratch
  folder="$tools_dir/kubectl_yaml-$(tools_hash "$sources"/go.mod "$sources"/go.sum "$sources"/*.go)"
  MESHPROBE_KUBECTL_YAML="$folder/kubectl_yaml"
  [ ! -d "$folder" ] || return 0
  command -v go >/dev/null || { tools_fail "go is not on PATH; it is required to build tests/kubectl_yaml"; return 1; }
  printf 'tools: installing %s\n' "$(basename "$folder")" >&2
  scratch="$(tools_scratch go)" || return 1
  (cd "$sources" && GOFLAGS='' CGO_ENABLED=0 go build -o "$scratch/" .) || { rm -rf "$scratch"; return 1; }
  tools_publish "$scratch" "$folder"
}

# Installs the Python tools. The scripts of a virtual environment contain its absolute path, so it cannot be renamed.
# The name with the hash is a link, which exists only when the installation is complete.
tools_install_python() {
  local list="$tools_root/.ci/requirements.txt" scratch version
  command -v python3 >/dev/null || { tools_fail "python3 is not on PATH"; return 1; }
  version="$(python3 -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')" || return 1
  tools_venv="$tools_dir/venv-$version-$(tools_hash "$list")"
  [ ! -x "$tools_venv/bin/python" ] || return 0
  printf 'tools: installing the Python tools\n' >&2
  scratch="$(mktemp -d "$tools_venv.XXXXXX")" || return 1
  python3 -m venv "$scratch" ||
    { rm -rf "$scratch"; tools_fail "python3 has no working venv module"; return 1; }
  "$scratch/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$list" ||
    { rm -rf "$scratch"; return 1; }
  chmod 755 "$scratch"
  [ -e "$tools_venv" ] || rm -f "$tools_venv"
  ln -sn "$scratch" "$tools_venv" 2>/dev/null || rm -rf "$scratch"
}

# Installs the packages of the VS Code extension, without running their scripts.
tools_install_vscode() {
  local sources="$tools_root/editors/vscode" scratch
  tools_vscode="$tools_dir/vscode-$(tools_hash "$sources/package-lock.json")"
  [ ! -d "$tools_vscode" ] || return 0
  printf 'tools: installing the packages of editors/vscode\n' >&2
  scratch="$(tools_scratch vscode)" || return 1
  cp "$sources/package.json" "$sources/package-lock.json" "$scratch/" || return 1
  (cd "$scratch" && PATH="$tools_venv/bin:$PATH" npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2) ||
    { rm -rf "$scratch"; return 1; }
  tools_publish "$scratch" "$tools_vscode"
}

# tools_install_packages PROGRAM:PACKAGE...: installs the packages of Debian whose programs are missing, if the package
# manager does not need a password. Otherwise the scripts that run the programs report them. A package without a
# program is only installed together with others.
tools_install_packages() {
  [ "$(uname -s)" = Linux ] && command -v apt-get >/dev/null || return 0
  local entry missing=() with=() as_root=()
  for entry in "$@"; do
    if [ -z "${entry%%:*}" ]; then
      with+=("${entry#*:}")
    elif ! PATH="$PATH:/usr/sbin:/sbin" command -v "${entry%%:*}" >/dev/null; then
      missing+=("${entry#*:}")
    fi
  done
  [ "${#missing[@]}" != 0 ] || return 0
  missing+=("${with[@]}")
  if [ "$(id -u)" != 0 ]; then
    [ "${CI:-}" = true ] && sudo -n true 2>/dev/null || return 0
    as_root=(sudo -n)
  fi
  printf 'tools: installing %s\n' "${missing[*]}" >&2
  { "${as_root[@]}" apt-get -qq update && "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -qq install --yes --no-install-recommends "${missing[@]}"; } >/dev/null ||
    printf 'tools: cannot install %s\n' "${missing[*]}" >&2
}

# Installs the network tools of the live proof, and Neovim.
tools_install_programs() {
  tools_install_packages iptables:iptables ip:iproute2 openssl:openssl nvim:neovim
}

# Installs the browser in which the HTML reports are tested: 133 MB to download, 440 MB on the disk.
tools_install_browser() {
  local browser
  for browser in chromium chromium-browser google-chrome; do
    if command -v "$browser" && command -v chromedriver; then return 0; fi
  done >/dev/null
  tools_install_packages chromium:chromium chromedriver:chromium-driver :fonts-dejavu-core
}

# Extracts axe-core from the Python package that contains it.
tools_install_axe() {
  local scratch
  tools_axe="$tools_dir/axe-$(tools_hash - <<<"$tools_axe_package")"
  [ ! -d "$tools_axe" ] || return 0
  printf 'tools: installing axe-core\n' >&2
  scratch="$(tools_scratch axe)" || return 1
  { "$tools_venv/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --dest "$scratch" "$tools_axe_package" &&
    "$tools_venv/bin/python" -m zipfile -e "$scratch"/*.whl "$scratch/wheel" &&
    mv "$scratch"/wheel/axe_playwright_python/axe.min.js "$scratch/" &&
    rm -rf "$scratch"/wheel "$scratch"/*.whl; } || { rm -rf "$scratch"; return 1; }
  tools_publish "$scratch" "$tools_axe"
}

# tools_extract_schemas CRATE SCRATCH: extracts the schemas of report formats into SCRATCH from the packages
# that contain them, which are downloaded into CRATE.
tools_extract_schemas() {
  local crate="$1" scratch="$2"
  mkdir "$crate/src" || return 1
  printf '%s\n' '[package]' 'name = "schemas"' 'version = "0.0.0"' 'edition = "2021"' '[dependencies]' \
    'serde-sarif = { version = "=0.8.0", default-features = false }' >"$crate/Cargo.toml"
  : >"$crate/src/lib.rs"
  (cd "$crate" && cargo vendor --quiet vendor >/dev/null) || return 1
  cp "$crate/vendor/serde-sarif/src/schema.json" "$scratch/sarif-2.1.0.json" || return 1
  "$tools_venv/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps \
    --no-binary pytest --dest "$crate" pytest==8.4.2 || return 1
  tar -xzOf "$crate/pytest-8.4.2.tar.gz" pytest-8.4.2/testing/example_scripts/junit-10.xsd >"$scratch/junit.xsd"
}

tools_install_schemas() {
  local scratch crate status=0
  tools_schemas="$tools_dir/schemas-$(tools_hash - <<<"$tools_schema_versions")"
  [ ! -d "$tools_schemas" ] || return 0
  printf 'tools: installing the schemas of report formats\n' >&2
  scratch="$(tools_scratch schemas)" || return 1
  crate="$(tools_scratch crate)" || { rm -rf "$scratch"; return 1; }
  tools_extract_schemas "$crate" "$scratch" || status=1
  rm -rf "$crate"
  [ "$status" = 0 ] || { rm -rf "$scratch"; return 1; }
  tools_publish "$scratch" "$tools_schemas"
}

# Removes the remains of killed installations. The caller must hold the lock.
tools_clean() {
  local folder link
  for folder in "$tools_dir"/.*.??????; do
    [ ! -d "$folder" ] || rm -rf "$folder"
  done
  # A virtual environment without the link that marks it as complete.
  for folder in "$tools_dir"/venv-*.??????; do
    link="${folder%.??????}"
    if [ -d "$folder" ] && [ ! -L "$folder" ] && [ ! "$link" -ef "$folder" ]; then rm -rf "$folder"; fi
  done
}

tools_install() {
  tools_path=""
  tools_install_go || return 1
  tools_install_kubectl_yaml || return 1
  tools_install_python || return 1
  tools_install_vscode || return 1
  tools_install_programs
  tools_install_browser
  tools_install_axe || return 1
  tools_install_schemas
}

# Returns the status of the installation, with or without errexit, whether this script is run or sourced.
tools_main() {
  mkdir -p "$tools_dir" || return 1
  # One installation at a time if flock exists; otherwise two runs may install the same tool.
  if command -v flock >/dev/null; then
    exec 9>"$tools_dir/.lock" && flock 9 || return 1
    tools_clean
  fi
  local status=0
  tools_install || status=1
  exec 9>&-
  [ "$status" = 0 ] || return 1
  export MESHPROBE_KUSTOMIZE MESHPROBE_KUBECTL_YAML PATH="$tools_path$tools_venv/bin:$PATH"
}

tools_main

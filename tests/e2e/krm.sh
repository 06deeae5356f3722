#!/usr/bin/env bash
# Tests the contract of a KRM function, with the current kustomize and with the one that kubectl 1.32
# embeds: nothing is lost, only the rewrite changes resources, and there is no needless output.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
find_meshprobe
# shellcheck source=odd-names.bash
source "$root/tests/e2e/odd-names.bash"

judge="$root/tests/e2e/kustomize.py"
function="$work/meshprobe-krm"
ln -s "$meshprobe" "$function"

# with_function FOLDER [SPEC]: adds the function as a transformer of a kustomization.
with_function() {
  printf 'transformers: [meshprobe.yaml]\n' >>"$1/kustomization.yaml"
  config "${2:-}" >"$1/meshprobe.yaml"
}

# config [SPEC]: prints the configuration of the function; the older kustomize does not support arguments.
config() {
  printf '%s\n' 'apiVersion: meshprobe.dev/v1alpha1' 'kind: MeshProbe' 'metadata:' '  name: default' \
    '  annotations:' '    config.kubernetes.io/function: |' '      exec:' "        path: $function"
  printf 'spec: {%s}\n' "${1:-failOn: never}"
}

build() {
  kustomize build --enable-alpha-plugins --enable-exec "$@"
}

# identical MESSAGE PLAIN MESHED: fails with the message if the files differ.
identical() {
  cmp "$2" "$3" || fail "$1"
}

transformers() {
  local at="$work/$version/overlays" overlay
  mkdir -p "$at"
  cp -R "$root/fixtures/krm" "$at/plain"
  cp -R "$root/fixtures/krm" "$at/meshed"
  for overlay in production staging; do
    with_function "$at/meshed/$overlay"
    kustomize build "$at/plain/$overlay" >"$at/plain.yaml"
    build "$at/meshed/$overlay" >"$at/meshed.yaml" 2>"$at/log" || fail_with "$at/log" "$overlay does not build"
    [ "$(grep -c 'settings-[a-z0-9]\{10\}' "$at/meshed.yaml")" = 2 ] || fail "$overlay: the hash is lost"
    python "$judge" rewritten "$at/plain.yaml" "$at/meshed.yaml" "$overlay-checkout"
    kustomize build "$at/plain/$overlay" | "$meshprobe" rewrite - >"$at/piped.yaml" 2>"$at/log" ||
      fail_with "$at/log" "$overlay: the pipe fails"
    python "$judge" same "$at/meshed.yaml" "$at/piped.yaml"
  done
  pass "kustomize $version: prefix, namespace, images, patches and hashes: the rewrite is the only difference"
  pass "kustomize $version: a pipe into rewrite has the same resources"

  # A function in the base receives other names than one in the overlay, and does not receive the probe that the
  # overlay adds. Both together have the same result.
  with_function "$at/meshed/base"
  build "$at/meshed/staging" >"$at/twice.yaml" 2>"$at/log" || fail_with "$at/log" "two levels do not build"
  python "$judge" rewritten "$at/plain.yaml" "$at/twice.yaml" staging-checkout
  pass "kustomize $version: the function works in base and overlay at once"
}

untouched() {
  local at="$work/$version/untouched"
  mkdir -p "$at"
  cp -R "$root/fixtures/krm" "$at/plain"
  python "$judge" strip-probes "$at/plain"
  cp -R "$at/plain" "$at/meshed"
  with_function "$at/meshed/base"
  with_function "$at/meshed/production"
  kustomize build "$at/plain/production" >"$at/plain.yaml"
  build "$at/meshed/production" >"$at/meshed.yaml" 2>"$at/log" || fail_with "$at/log" "it does not build"
  identical "a tree without probes was changed" "$at/plain.yaml" "$at/meshed.yaml"
  [ ! -s "$at/log" ] || fail_with "$at/log" "unexpected output on stderr"
  pass "kustomize $version: without probes, the output is byte-identical, and nothing is printed"
}

validators() {
  local at="$work/$version/validators"
  cp -R "$root/fixtures/krm" "$at"
  printf 'validators: [meshprobe.yaml]\n' >>"$at/production/kustomization.yaml"
  config 'emit: none, failOn: never' >"$at/production/meshprobe.yaml"
  kustomize build "$root/fixtures/krm/production" >"$at/plain.yaml"
  build "$at/production" >"$at/checked.yaml" 2>"$at/log" || fail_with "$at/log" "the validator fails"
  identical "a validator changed something" "$at/plain.yaml" "$at/checked.yaml"
  config 'emit: none, failOn: warning, assume: {rewrite: "false"}' >"$at/production/meshprobe.yaml"
  status 1 "$at/log" build "$at/production"
  has "$at/log" strict-probe-not-rewritten
  pass "kustomize $version: as a validator, it returns nothing, and fails the build for a finding"

  # The pitfalls of docs/krm.md: kustomize has dropped comments, but not annotations; and the same configuration
  # under \`transformers\` deletes everything.
  printf '%s\n' 'commonAnnotations:' '  meshprobe.dev/ignore: |' '    strict-probe-not-rewritten: known' \
    '    tcp-probe-always-passes: known' >>"$at/production/kustomization.yaml"
  build "$at/production" >"$at/suppressed.yaml" 2>"$at/log" || fail_with "$at/log" "the annotation does not suppress the findings"
  config 'emit: none, failOn: never' >"$at/production/meshprobe.yaml"
  sed -i 's/^validators:/transformers:/' "$at/production/kustomization.yaml"
  build "$at/production" >"$at/gone.yaml" 2>"$at/log" || fail_with "$at/log" "it fails"
  [ ! -s "$at/gone.yaml" ] || fail "a transformer that returns nothing no longer deletes resources; update docs/krm.md"
  pass "kustomize $version: annotations suppress findings; a transformer that returns nothing deletes resources"
}

skipped() {
  local at="$work/$version/skipped"
  cp -R "$root/fixtures/krm" "$at"
  with_function "$at/production"
  kustomize build --enable-alpha-plugins "$at/production" >"$at/out.yaml" 2>"$at/log" || fail_with "$at/log" "it fails"
  lacks "$at/out.yaml" app-health
  status 1 "$at/log" "$meshprobe" check --require-rewritten --fail-on error - <"$at/out.yaml"
  has "$at/log" not-rewritten-ahead
  pass "kustomize $version: without --enable-exec kustomize silently skips the function, as the README warns, and --require-rewritten reports it"
}

places() {
  local at="$work/$version/places"
  cp -R "$root/fixtures/krm" "$at"
  # The base is outside the overlay, and files outside the overlay are read only in a repository.
  git init --quiet "$at"
  with_function "$at/production" 'failOn: never, assume: {rewrite: "false"}'
  printf 'buildMetadata: [originAnnotations]\n' >>"$at/production/kustomization.yaml"
  build "$at/production" 2>"$at/log" >"$at/out.yaml" || fail_with "$at/log" "it fails"
  has "$at/log" '../base/shop.yaml:34:11: Deployment '
  pass "kustomize $version: findings name the file of the base, and the line"
}

in_place() {
  local at="$work/$version/files"
  mkdir "$at"
  cp "$root/fixtures/krm/base/"{shop,mesh}.yaml "$at"
  (cd "$at" && kustomize fn run . --enable-exec --exec-path "$function" -- failOn=never) >"$work/log" 2>&1 ||
    fail_with "$work/log" "kustomize fn run fails"
  [ "$(cd "$at" && echo *)" = 'mesh.yaml shop.yaml' ] || fail "files were added or removed"
  has "$at/shop.yaml" '# Comments do not survive'
  has "$at/shop.yaml" /app-health/checkout/livez
  pass "kustomize $version: kustomize fn run keeps files and comments"
}

# Neither the function nor the log with its messages treats file names as options or commands.
hostile_files() {
  local at="$work/$version/hostile"
  plain_application "$at/plain"
  hostile_application "$at/named"
  printf 'buildMetadata: [originAnnotations]\n' | tee -a "$at/plain/kustomization.yaml" >>"$at/named/kustomization.yaml"
  kustomize build "$at/named" >"$at/plain.yaml"
  with_function "$at/named"
  # shellcheck disable=SC2046 # names without blanks
  (cd "$at/named" && GITHUB_ACTIONS=true TF_BUILD=True build .) >"$at/meshed.yaml" 2>"$at/log" || fail_with "$at/log" "it fails"
  # shellcheck disable=SC2046 # names without blanks
  python "$judge" rewritten "$at/plain.yaml" "$at/meshed.yaml" $(hostile_workloads)
  config 'failOn: never, assume: {rewrite: "false", mtls: STRICT}' >"$at/named/meshprobe.yaml"
  (cd "$at/named" && GITHUB_ACTIONS=true TF_BUILD=True build .) >"$at/meshed.yaml" 2>"$at/log" || fail_with "$at/log" "it fails"
  has "$at/log" '%0A::error::x.yaml:'
  no_commands "$at/log"
  not_run "$at"
  pass "kustomize $version: file names are not options or commands"
}

for version in 5.8 5.5; do
  [ "$version" = 5.8 ] || PATH="$tools_kustomize_5_5:$PATH"
  mkdir "$work/$version"
  transformers
  untouched
  validators
  skipped
  places
  in_place
  hostile_files
done

# If the caller stops reading, the function ends without a message.
{
  printf 'apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n'
  sed -e 's/^/  /' -e '1,/^  apiVersion/s/^  apiVersion/- apiVersion/' "$root/fixtures/krm/base/shop.yaml" |
    sed '/^  ---$/,$d'
} >"$work/list.yaml"
read_nothing() { "$function" <"$work/list.yaml" 2>/dev/null | true; }
export -f read_nothing && export function work
timeout 10 bash -c read_nothing || fail "the function does not end if the pipe is closed"
pass "the function ends if the pipe is closed"

#!/usr/bin/env bash
# Tests the binary as an exec function of `kustomize build`, on a copy of fixtures/demo.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
find_meshprobe

judge="$root/tests/e2e/kustomize.py"

build() {
  kustomize build "$1" --enable-alpha-plugins --enable-exec
}

# new_overlay FOLDER: builds ../demo with and without the function, whose
# settings come from stdin.
new_overlay() {
  local at="$1"
  mkdir -p "$at/plain" "$at/meshed"
  printf 'resources: [../../demo/clusters/production]\n' | tee "$at/plain/kustomization.yaml" >"$at/meshed/kustomization.yaml"
  printf 'transformers: [meshprobe.yaml]\n' >>"$at/meshed/kustomization.yaml"
  ln -s "$meshprobe" "$at/meshed/meshprobe-krm"
  {
    printf '%s\n' \
      'apiVersion: meshprobe.dev/v1alpha1' \
      'kind: MeshProbe' \
      'metadata:' \
      '  name: default' \
      '  annotations:' \
      '    config.kubernetes.io/function: |' \
      '      exec:' \
      '        path: ./meshprobe-krm'
    cat
  } >"$at/meshed/meshprobe.yaml"
}

rewrite_settings='spec:
  actions: [rewrite]
  mesh: {kind: istio, version: "1.28"}
  form: annotation
  failOn: never'

# 1. The unchanged demo: storefront is rewritten, the two opt-outs are respected.
mkdir "$work/asis"
cp -R "$root/fixtures/demo" "$work/asis/demo"
new_overlay "$work/asis/overlay" <<<"$rewrite_settings"
build "$work/asis/overlay/plain" >"$work/asis/plain.yaml"
build "$work/asis/overlay/meshed" >"$work/asis/meshed.yaml" 2>"$work/asis/log" ||
  fail_with "$work/asis/log" "the build with the function failed on the demo"
python "$judge" rewritten "$work/asis/plain.yaml" "$work/asis/meshed.yaml" storefront
pass "demo: storefront is rewritten, everything else is unchanged"

# 2. With the opt-outs removed every network probe is rewritten: http, grpc and tcp.
mkdir "$work/all"
cp -R "$root/fixtures/demo" "$work/all/demo"
python "$judge" strip-opt-out "$work/all/demo"
new_overlay "$work/all/overlay" <<<"$rewrite_settings"
build "$work/all/overlay/plain" >"$work/all/plain.yaml"
build "$work/all/overlay/meshed" >"$work/all/meshed.yaml" 2>"$work/all/log" ||
  fail_with "$work/all/log" "the build with the function failed without the opt-outs"
python "$judge" rewritten "$work/all/plain.yaml" "$work/all/meshed.yaml" storefront payments cache
pass "demo without opt-outs: all three workloads are rewritten"

# 3. A second call of the function in one build changes nothing.
printf 'resources: [../meshed]\ntransformers: [again.yaml]\n' >"$work/all/overlay/plain/kustomization.yaml"
cp "$work/all/overlay/meshed/meshprobe.yaml" "$work/all/overlay/plain/again.yaml"
ln -s "$meshprobe" "$work/all/overlay/plain/meshprobe-krm"
build "$work/all/overlay/plain" >"$work/all/twice.yaml" 2>"$work/all/log" ||
  fail_with "$work/all/log" "the second pass of the function failed"
cmp "$work/all/meshed.yaml" "$work/all/twice.yaml" || fail "the second pass changed something"
pass "a second pass changes nothing"

# 4. Nothing to rewrite: the output is identical to that of a build without the function.
mkdir "$work/bare"
cp -R "$root/fixtures/demo" "$work/bare/demo"
python "$judge" strip-probes "$work/bare/demo"
new_overlay "$work/bare/overlay" <<<"$rewrite_settings"
build "$work/bare/overlay/plain" >"$work/bare/plain.yaml"
build "$work/bare/overlay/meshed" >"$work/bare/meshed.yaml" 2>"$work/bare/log" ||
  fail_with "$work/bare/log" "the build with the function failed without probes"
lacks "$work/bare/plain.yaml" Probe:
cmp "$work/bare/plain.yaml" "$work/bare/meshed.yaml" || fail "a tree without probes was changed"
[ ! -s "$work/bare/log" ] || fail_with "$work/bare/log" "unexpected output on stderr"
pass "without probes, the output is byte-identical"

# 5. With the action `check`, the function fails the build, with the reason on stderr.
new_overlay "$work/asis/gate" <<<'spec:
  actions: [check]
  mesh: {kind: istio, version: "1.28"}
  failOn: error'
status 1 "$work/asis/gate.log" build "$work/asis/gate/meshed"
has "$work/asis/gate.log" strict-probe-not-rewritten
has "$work/asis/gate.log" tcp-probe-always-passes
pass "as a check, it fails the build and reports the findings"

# 6. An unknown setting is rejected before anything is written.
new_overlay "$work/asis/typo" <<<'spec:
  action: [rewrite]'
status 1 "$work/asis/typo.log" build "$work/asis/typo/meshed"
has "$work/asis/typo.log" actions # the suggestion
lacks "$work/asis/typo.log" 'kind: Deployment'
pass "an unknown setting fails the build"

# 7. As a legacy exec plugin, which does not need --enable-exec: the same rewrite.
plugins="$work/config/kustomize/plugin/meshprobe.dev/v1alpha1/meshprobe"
mkdir -p "$plugins" "$work/asis/overlay/plugin"
ln -s "$meshprobe" "$plugins/MeshProbe"
cp "$work/asis/overlay/meshed/kustomization.yaml" "$work/asis/overlay/plugin/"
{
  printf '%s\n' 'apiVersion: meshprobe.dev/v1alpha1' 'kind: MeshProbe' 'metadata:' '  name: default'
  cat <<<"$rewrite_settings"
} >"$work/asis/overlay/plugin/meshprobe.yaml"
XDG_CONFIG_HOME="$work/config" kustomize build "$work/asis/overlay/plugin" --enable-alpha-plugins \
  >"$work/asis/plugin.yaml" 2>"$work/asis/log" ||
  fail_with "$work/asis/log" "the build with the plugin failed"
cmp "$work/asis/meshed.yaml" "$work/asis/plugin.yaml" || fail "plugin and function differ"
pass "a legacy exec plugin has the same output as the function"

#!/usr/bin/env bash
# Renders charts and kustomizations with the real helm and kustomize: findings name the files that
# users edit, and nothing is written into the tree.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
find_meshprobe

tree="$work/tree"
mkdir "$tree"
cp -R "$root/fixtures/helm" "$tree/helm"
cp -R "$root/fixtures/krm" "$tree/krm"
git -C "$tree" init --quiet
cd "$tree"
find . -path ./.git -prune -o -type f -exec sha256sum {} + | sort >"$work/before"

# check LOG ARGUMENTS...: prints one line per finding.
check() {
  check_exits 1 "$@"
}

# check_exits STATUS LOG ARGUMENTS...: the same, for a run that cannot render.
check_exits() {
  local status="$1" log="$2"
  shift 2
  status "$status" "$log" "$meshprobe" check --output-format concise --assume injection=all "$@"
}

# expected LOG: compares the locations on stdin, `file:line rule`, with those of the log.
expected() {
  sed -n 's/^\([^ ]*:[0-9]*\):[0-9]*: [a-z]*\[\([a-z-]*\)\].*/\1 \2/p' "$1" | sort >"$work/places"
  sort >"$work/expected"
  diff -u "$work/expected" "$work/places" >&2 || fail_with "$1" "other locations than expected"
}

# 1. A chart from the pipe, with the values of production.
helm template prod helm/shop --values helm/production.yaml >"$work/chart.yaml"
check "$work/log" - <"$work/chart.yaml"
cat >"$work/chart" <<'END'
helm/shop/templates/web.yaml:26 strict-probe-not-rewritten
helm/shop/templates/web.yaml:31 strict-probe-not-rewritten
helm/shop/templates/web.yaml:38 tcp-probe-always-passes
helm/shop/charts/cache/templates/cache.yaml:20 named-port-unresolved
END
expected "$work/log" <"$work/chart"
has "$work/log" '(rendered: stdin:'
pass "helm template | meshprobe check -: findings name the templates, and the lines in them"

# 2. The same chart with --helm.
check "$work/log" --helm helm/shop --values helm/production.yaml
expected "$work/log" <"$work/chart"
has "$work/log" '(rendered: helm/shop/(helm template):'
pass "check --helm: the same locations"

# 3. If the chart is not available, findings contain the file names that helm printed.
mkdir "$work/elsewhere"
(cd "$work/elsewhere" && check "$work/log" - <"$work/chart.yaml")
has "$work/log" 'shop/templates/web.yaml: warning[strict-probe-not-rewritten]'
pass "without the chart: the names that helm prints"

# 4. A chart that cannot be rendered is a finding with the message of helm.
sed -i 's/{{- end }}$/{{- end/' helm/shop/templates/mesh.yaml
check_exits 2 "$work/log" --helm helm/shop
has "$work/log" "helm/shop/Chart.yaml:1:1: error[not-rendered] \`helm template helm/shop\` failed: Error: parse error"
cp "$root/fixtures/helm/shop/templates/mesh.yaml" helm/shop/templates/mesh.yaml
pass "a chart that cannot be rendered is a finding, with the message of helm"

# 5. rewrite --helm prints the same as the pipe.
sed -i '/annotations:/d; /rewriteAppHTTPProbers/d' helm/shop/templates/web.yaml
sed -i 's/port: cache/port: 6379/' helm/shop/charts/cache/templates/cache.yaml
"$meshprobe" rewrite --quiet --assume injection=all --helm helm/shop >"$work/a.yaml"
helm template helm/shop | "$meshprobe" rewrite --quiet --assume injection=all - >"$work/b.yaml"
has "$work/a.yaml" /app-health/worker/readyz
has "$work/a.yaml" '# Source: shop/templates/web.yaml'
cp -R "$root/fixtures/helm" .
cmp "$work/a.yaml" "$work/b.yaml" || fail "rewrite --helm differs from the pipe"
pass "rewrite --helm prints what the pipe prints"

for version in 5.8 5.5; do
  [ "$version" = 5.8 ] || PATH="$tools_dir/kustomize-$version:$PATH"

  # 6. A kustomization: findings point at the base and at other files of the build only.
  check "$work/log" --kustomize krm/production --assume rewrite=false
  places="$(sed -n 's/^\([^ ]*\): .*/\1/p' "$work/log" | sort -u | sed 's/:[0-9].*//' | sort -u)"
  [ "$places" = krm/base/shop.yaml ] || fail_with "$work/log" "other files than expected: $places"
  has "$work/log" '(rendered: krm/production/(kustomize build):'
  grep -q '^krm/base/shop.yaml:[0-9]*:[0-9]*: warning\[strict-probe-not-rewritten\] livenessProbe' "$work/log" ||
    fail_with "$work/log" "a finding has no line"
  pass "kustomize $version: check --kustomize names the files of the base"

  # 7. rewrite --kustomize prints the same as the pipe; --require-rewritten accepts both.
  "$meshprobe" rewrite --quiet --kustomize krm/production >"$work/a.yaml"
  kustomize build krm/production >"$work/plain.yaml"
  "$meshprobe" rewrite --quiet - <"$work/plain.yaml" >"$work/b.yaml"
  cmp "$work/a.yaml" "$work/b.yaml" || fail "rewrite --kustomize differs from the pipe"
  lacks "$work/a.yaml" config.kubernetes.io/origin
  has "$work/a.yaml" app-health
  status 0 "$work/log" "$meshprobe" check --require-rewritten --fail-on error - <"$work/a.yaml"
  status 1 "$work/log" "$meshprobe" check --require-rewritten --fail-on error - <"$work/plain.yaml"
  has "$work/log" not-rewritten-ahead
  pass "kustomize $version: rewrite --kustomize prints the same as the pipe; --require-rewritten accepts only rewritten output"

  # 8. A build that fails: the message of kustomize, and findings in the files themselves.
  cp -R krm "$work/broken-$version"
  printf 'components: [../missing]\n' >>"$work/broken-$version/production/kustomization.yaml"
  (cd "$work" && check_exits 2 "$work/log" --kustomize "broken-$version/production" --assume rewrite=false)
  has "$work/log" "broken-$version/production/kustomization.yaml:1:1: error[not-rendered] \`kustomize build broken-$version/production\` failed: Error: "
  has "$work/log" 'tcp-probe-always-passes'
  pass "kustomize $version: a build that fails is a finding, and the files are still checked"
done

find . -path ./.git -prune -o -type f -exec sha256sum {} + | sort >"$work/after"
cmp "$work/before" "$work/after" || fail "the tree was written to"
pass "nothing was written into the tree"

#!/usr/bin/env bash
# Generates the seeds of the fuzz targets from the fixtures: fuzz/seed.sh [FOLDER]
#
# Writes them to FOLDER/TARGET (default: fuzz/corpus, which git ignores). The regression inputs
# (fixtures/hostile) are also seeds of their targets.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
corpus="${1:-$root/fuzz/corpus}"
mkdir -p "$corpus"/{parse,edit,krm,probers,config,check,yaml_diff}
corpus="$(cd "$corpus" && pwd)"
cd "$root/fixtures"

# Longer seeds slow down every run, and do not reach more code than shorter ones.
largest=6000c

manifests() {
  find . -type f \( -name '*.yaml' -o -name '*.yml' -o -name '*.json' \) -size "-$largest" \
    -not -path './hostile/*' -print | LC_ALL=C sort
}

flat() {
  local name="${1#./}"
  printf '%s' "${name//\//_}"
}

manifests | while IFS= read -r path; do
  name="$(flat "$path")"
  for target in parse edit yaml_diff; do
    cp "$path" "$corpus/$target/$name"
  done
  # A list with the file as its only item, if it is one document.
  if ! grep -qE '^(---|\.\.\.|%|\{)' "$path" && grep -q '^kind:' "$path"; then
    {
      printf 'apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n'
      sed -e '1s/^/- /' -e '2,$s/^\(.\)/  \1/' "$path"
    } >"$corpus/krm/$name"
  fi
  if grep -q '^kind: MeshProbe' "$path" || [[ "$path" == *meshprobe.yaml ]]; then
    cp "$path" "$corpus/config/$name"
  fi
  # The value of the env in its YAML form; the mutator handles the quotes.
  grep -hoE '\{\\?"/app-(health|lifecycle)/.*\}' "$path" 2>/dev/null | head -n 1 |
    sed 's/\\"/"/g' >"$corpus/probers/$name" || true
  [ -s "$corpus/probers/$name" ] || rm -f "$corpus/probers/$name"
done

# Up to three files of one folder, each with its path, separated by the byte that does not occur in UTF-8.
manifests | sed 's,/[^/]*$,,' | uniq | while IFS= read -r folder; do
  parts=0
  out="$corpus/check/$(flat "$folder")"
  : >"$out"
  for path in "$folder"/*.yaml; do
    [ -f "$path" ] && [ "$parts" -lt 3 ] || continue
    [ "$parts" = 0 ] || printf '\xff' >>"$out"
    printf '# file: apps/%s\n' "$(basename "$path")" >>"$out"
    head -c 6000 "$path" >>"$out"
    parts=$((parts + 1))
  done
  [ "$parts" -gt 0 ] || rm -f "$out"
done

# A configuration alone, and values of annotations after the separator.
cat >"$corpus/config/seed-whole.yaml" <<'EOF'
apiVersion: meshprobe.dev/v1alpha1
kind: MeshProbe
metadata: {name: default}
spec:
  mesh: {kind: istio, version: "1.28", rootNamespace: istio-system, revision: default}
  actions: [check, rewrite]
  form: annotation
  failOn: error
  emit: items
  assume: {injection: evidence, mtls: PERMISSIVE}
  override: {status-port: 15020}
  scopes: [{paths: ["clusters/prod/**"], assume: {mtls: STRICT}}]
  rules: {redundant-rewrite-annotation: ignore, probe-port-excluded-cleartext: error}
  ignore: [{rule: named-port-unresolved, path: "apps/*", reason: x}]
EOF
number=0
for value in true 15020 '8080,9090' '*' '10.0.0.0/8' 'redundant-rewrite-annotation@web: reason' \
  'proxyMetadata: {A: b}' '{"statusPort":15021}' sidecar,grpc-agent; do
  number=$((number + 1))
  for choice in a k u; do
    printf '\xff%s%s' "$choice" "$value" >"$corpus/config/value-$number-$choice"
  done
done

if [ -d hostile ]; then
  find hostile -type f | while IFS= read -r path; do
    target="${path#hostile/}"
    target="${target%%/*}"
    if [ -d "$corpus/$target" ]; then
      cp "$path" "$corpus/$target/hostile-$(basename "$path")"
    fi
  done
fi

for target in parse edit krm probers config check yaml_diff; do
  printf '%-10s %s seeds\n' "$target" "$(find "$corpus/$target" -type f | wc -l)"
done

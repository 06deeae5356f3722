# Creates manifests whose names and values contain the characters that are special in report formats, shells and
# workflow commands; sourced, never run.
# shellcheck shell=bash

# odd_names FOLDER: writes manifests with unusual names.
odd_names() {
  local name number=0
  mkdir -p "$1/sub folder"
  printf '%s\n' 'apiVersion: v1' 'kind: Namespace' 'metadata:' '  name: shop' '  labels: {istio-injection: enabled}' \
    '---' 'apiVersion: security.istio.io/v1' 'kind: PeerAuthentication' \
    'metadata: {name: default, namespace: shop}' 'spec: {mtls: {mode: STRICT}}' >"$1/mesh.yaml"
  # shellcheck disable=SC2016 # the backticks are characters of a name
  for name in $'new\nline' $'return\rhere' $'tab\there' 'a b' '50%0A' 'c,d' 'e:f=g::h' $'esc\e[31m' 'größe字' '𝒳' \
    'q"uo'"'"'te' '#hash?&x' '[x](y)|`z`' 'sub folder/<b>'; do
    number=$((number + 1))
    odd_workload "web-$number" >"$1/$name.yaml"
  done
  # A manifest with a byte order mark and Windows line breaks, and one without a line break at the end.
  { printf '\xef\xbb\xbf' && odd_workload bom | sed 's/$/\r/'; } >"$1/bom.yaml"
  printf '%s' "$(odd_workload open)" >"$1/open.yaml"
}

# odd_workload NAME: prints a workload with characters of one to four bytes before a finding, two findings on one line,
# and a finding over several lines.
odd_workload() {
  cat <<YAML
apiVersion: apps/v1
kind: Deployment
metadata: {name: $1, namespace: shop}
spec:
  template:
    metadata:
      annotations: {note: "größe 字 𝒳", sidecar.istio.io/rewriteAppHTTPProbers: "false"}
    spec:
      containers:
        - {name: one, env: [{name: A, value: "ö字𝒳"}], readinessProbe: {httpGet: {path: /𝒳, port: 80}}, livenessProbe: {httpGet: {port: 81}}}
        - name: two
          "startupProbe":
            httpGet: {path: "/字",
              port: 82}
YAML
}

# Names that are options, workflow commands, or text that a shell expands, or that contain line breaks. hostile_folders
# creates their folders.
# shellcheck disable=SC2016 # the names are not expanded
hostile=('--add-ignore=x.yaml' '--config=evil.yaml' '--exclude=*.yaml' '--report=sarif=victim/x.yaml' '-q.yaml' '-- -.yaml'
  '::error::x.yaml' '::warning::/##vso[task.complete]x.yaml' '##[group]x.yaml' '$(touch pwned).yaml' '`touch pwned`.yaml'
  $'new\n::error::line.yaml' $'new\rline.yaml' "quote'\".yaml" '%0A::error::x.yaml' '; touch pwned;.yaml' '${IFS}|&>pwned.yaml')

# hostile_folders FOLDER: creates the folders of the hostile names.
hostile_folders() {
  mkdir -p "$1/--report=sarif=victim" "$1/::warning::" "$1/victim"
}

# hostile_names FOLDER: writes manifests with these names, each with a finding, and the file that one of the options
# names.
hostile_names() {
  local name number=0
  hostile_folders "$1"
  odd_workload victim >"$1/victim/x.yaml"
  for name in "${hostile[@]}"; do
    number=$((number + 1))
    odd_workload "hostile-$number" >"$1/$name"
  done
}

# hostile_application FOLDER: writes a kustomization of manifests with these names, each with probes to rewrite.
hostile_application() {
  local name number=0
  hostile_folders "$1"
  printf '%s\n' 'apiVersion: v1' 'kind: Namespace' 'metadata: {name: shop, labels: {istio-injection: enabled}}' >"$1/mesh.yaml"
  for name in "${hostile[@]}"; do
    number=$((number + 1))
    odd_workload "hostile-$number" | sed 's/, sidecar.istio.io[^}]*//' >"$1/$name"
  done
  python3 - mesh.yaml "${hostile[@]}" >"$1/kustomization.yaml" <<'PYTHON'
import json
import sys

print("resources:", json.dumps(sys.argv[1:]))
PYTHON
}

# plain_application FOLDER: writes the manifests of hostile_application with plain names.
plain_application() {
  local name number=0
  hostile_application "$1"
  : >"$1/plain.yaml"
  for name in mesh.yaml "${hostile[@]}"; do
    printf -- '---\n' >>"$1/plain.yaml"
    cat -- "$1/$name" >>"$1/plain.yaml"
  done
  printf 'resources: [plain.yaml]\n' >"$1/kustomization.yaml"
}

# hostile_workloads: prints the names of the workloads in both applications.
hostile_workloads() {
  seq -f 'hostile-%.0f' "${#hostile[@]}"
}

# no_commands LOG: checks that no line of a log is a workflow command.
no_commands() {
  if grep -E '^[[:space:]]*::|##\[|##vso\[' "$1"; then fail_with "$1" "a file name became a workflow command"; fi
}

# not_run FOLDER: checks that no shell executed a file name.
not_run() {
  [ -z "$(find "$1" -name pwned)" ] || fail "a shell executed a file name"
}

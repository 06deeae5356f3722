#!/usr/bin/env bash
# The official Python client of the Model Context Protocol uses the server.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
find_meshprobe

tree="$work/tree"
mkdir -p "$tree/apps" "$tree/mesh" "$work/secret"
cat >"$tree/mesh/mtls.yaml" <<'E'
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata:
  name: default
  namespace: istio-system
spec:
  mtls:
    mode: STRICT
E

# deployment NAME: prints a Deployment that switches the rewrite of probes off.
deployment() {
  cat <<E
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: $1, namespace: shop}
spec:
  selector:
    matchLabels: {app: $1}
  template:
    metadata:
      labels: {app: $1}
      annotations:
        sidecar.istio.io/rewriteAppHTTPProbers: "false"
    spec:
      containers:
        - name: web
          image: web:1
          ports: [{containerPort: 8080}]
          readinessProbe:
            httpGet: {path: /readyz, port: 8080}
E
}
{
  printf '%s\n' 'apiVersion: v1' 'kind: Namespace' 'metadata:' '  name: shop' '  labels:' '    istio-injection: enabled'
  deployment web
} >"$tree/apps/web.yaml"
for number in {1..40}; do deployment "other-$number"; done >"$tree/apps/many.yaml"
cp "$tree/apps/web.yaml" "$work/secret/web.yaml"
ln -s "$work/secret" "$tree/outside"
ln -s "$work/secret/web.yaml" "$tree/apps/link.yaml"
# The program ends with code 1, because there are changes.
(cd "$tree" && "$meshprobe" check --diff apps mesh 2>/dev/null) >"$work/expected.diff" || [ $? = 1 ]
find "$tree" -type f -exec sha256sum {} + >"$work/before"

python "$root/tests/e2e/mcp_client.py" "$meshprobe" "$tree" "$work/expected.diff" >"$work/log" 2>&1 ||
  fail_with "$work/log" "client and server disagree"
while IFS= read -r line; do pass "$line"; done <"$work/log"
find "$tree" -type f -exec sha256sum {} + | cmp - "$work/before" || fail "a file was changed"
pass "no file was changed"

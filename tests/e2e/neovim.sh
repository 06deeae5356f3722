#!/usr/bin/env bash
# Neovim, without a window, opens a broken manifest, shows the diagnostic, applies the fix and saves. The file is then the
# one that `meshprobe check --fix` writes.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
find_meshprobe
if ! command -v nvim >/dev/null; then
  # .ci/tools.sh installs it where the package manager does not need a password.
  [ "${CI:-}" != true ] && [ "$(id -u)" != 0 ] || fail "nvim is not on PATH"
  printf 'skip Neovim: nvim is not on PATH\n'
  exit 0
fi

mkdir "$work/project" "$work/expected"
cat >"$work/project/mesh.yaml" <<'YAML'
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {istio-injection: enabled}}
---
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: shop}
spec: {mtls: {mode: STRICT}}
YAML
cat >"$work/project/web.yaml" <<'YAML'
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
      annotations: {note: '𝄞ü'} # 𝄞
    spec:
      containers:
      - name: web
        image: web
        readinessProbe:
          httpGet:
            path: /ready
            port: "8080"
YAML
cp "$work/project"/*.yaml "$work/expected/"
(cd "$work/expected" && status 0 "$work/log" "$meshprobe" check --fix --fail-on never .)
cmp -s "$work/expected/web.yaml" "$work/project/web.yaml" && fail "check --fix changes nothing"

status 0 "$work/log" env HOME="$work" XDG_CACHE_HOME="$work/cache" MESHPROBE="$meshprobe" FILE="$work/project/web.yaml" \
  SCREEN="$work/screen" nvim --headless --clean -u NONE -S "$root/tests/e2e/neovim.lua"
cmp "$work/expected/web.yaml" "$work/project/web.yaml" || fail_with "$work/screen" "Neovim saved another text than check --fix"
for text in '[probe-port-quoted-number]' '- **outcome** ' 'web: readinessProbe ' 'port: 8080' \
  '→ :15020/app-health/web/readyz  ok'; do
  has "$work/screen" "$text"
done
[ -z "${MESHPROBE_SCREENS:-}" ] || cp "$work/screen" "$MESHPROBE_SCREENS/neovim.txt"
pass "$(nvim --version | head -n 1): diagnostic, hover, hints, and a fix equal to check --fix"

#!/usr/bin/env bash
# Runs the pages of docs/start, each in a new folder, and prints how long each takes: its files, its commands in order,
# and the findings that it shows. Local builds replace the published artifacts, as in readme.sh; a clone of the repository
# is a clone of this tree.
# In the gate, commands that build use the binary and the wheel of the gate instead; .ci/nightly builds.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
find_meshprobe
find_wheel

snapshot_repository "$work/meshprobe.git"
export CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}"
export HOME="$work/home" CARGO_TARGET_DIR="$target" CARGO_INSTALL_ROOT="$work/home/.cargo"
mkdir -p "$HOME/.cargo/bin"
export PATH="$HOME/.cargo/bin:$PATH"
git config --file "$HOME/gitconfig" "url.$work/meshprobe.git.insteadOf" https://github.com/meshprobe/meshprobe
export GIT_CONFIG_GLOBAL="$HOME/gitconfig"
if [ "$profile" != release ]; then
  export MESHPROBE_BIN="$meshprobe" MESHPROBE_PROFILE="$profile"
  export PATH="$root/.ci/prebuilt:$PATH"
fi

# page NAME: writes the files of the page into a new folder, $folder.
page() {
  folder="$work/$1"
  started=$SECONDS
  python "$root/tests/e2e/start.py" "$root/docs/start/$1.md" "$folder"
  cd "$folder"
}

# run CODE LINE: runs the next command of the page, which is in its line LINE.
run() {
  local command
  command="$(sed -n "$2p" "$folder.commands")"
  [ -n "$command" ] || fail "docs/start/$(basename "$folder").md has no command $2"
  status "$1" "$work/log" bash -c "$command"
}

# done_after COMMANDS TEXT: checks the number of commands, and prints the time of the page.
done_after() {
  [ "$(wc -l <"$folder.commands")" = "$1" ] || fail_with "$folder.commands" "the page has other commands"
  pass "$(basename "$folder"): $2 ($((SECONDS - started)) s)"
}

# shown FILE: checks that a file contains each line that the page shows.
shown() {
  local line
  [ -s "$folder.expected" ] || fail "the page shows no output"
  while IFS= read -r line; do has "$1" "$line"; done <"$folder.expected"
}

# 1. The installation.
page README
mapfile -t lines <"$folder.commands"
status 0 "$work/log" bash -ec "$(printf '%s\n' "${lines[@]}")"
[ "$(command -v meshprobe)" = "$HOME/.cargo/bin/meshprobe" ] || fail "meshprobe was not installed"
done_after 4 "installed"

# 2. On the machine.
page local
run 1 1
has "$work/log" 'error[strict-probe-not-rewritten]'
has "$work/log" 'error[tcp-probe-always-passes]'
run 0 2
run 0 3
lacks "$work/log" 'error['
run 0 4
has "$work/log" 'http :15020/app-health/web/readyz'
has "$work/log" 'http :15020/app-health/web/livez'
done_after 4 "two findings, fixed"

# 3. GitHub. The action is this tree, the binary is on PATH.
page github
cp .github/workflows/meshprobe.yml "$work/workflow.yml"
actionlint "$work/workflow.yml"
check-jsonschema --quiet --builtin-schema vendor.github-workflows "$work/workflow.yml"
version="$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml" | head -n 1)"
has "$work/workflow.yml" "uses: meshprobe/meshprobe@v$version"
cp -R "$root/action.yml" "$root/action" .
python - "$work/workflow.yml" .github/workflows/meshprobe.yml "$version" <<'P'
import pathlib
import sys

page, workflow = map(pathlib.Path, sys.argv[1:3])
step = f"- uses: meshprobe/meshprobe@v{sys.argv[3]}\n"
text = page.read_text()
assert text.count(step) == 1, text
workflow.write_text(text.replace(step, "- uses: ./\n        with:\n          version: path\n"))
P
commit_all "$folder"
in_act() {
  XDG_CONFIG_HOME="$work/config" XDG_CACHE_HOME="$work/cache" \
    act push -P ubuntu-latest=-self-hosted --no-cache-server --action-offline-mode
}
status 1 "$work/log" whole '::error file=web.yaml' in_act
# The page shows `web.yaml, line 19: rule`.
read -r file _ line rule <"$folder.expected"
has "$work/log" "::error file=${file%,},line=${line%:},"
has "$work/log" "$rule"
done_after 0 "an annotation"

# 4. GitLab: the script of the job, with the wheel of this tree.
page gitlab
check-jsonschema --quiet --builtin-schema vendor.gitlab-ci .gitlab-ci.yml
python - .gitlab-ci.yml >"$work/script" <<'P'
import sys

import yaml

print(*yaml.safe_load(open(sys.argv[1]))["meshprobe"]["script"], sep="\n")
P
virtualenv --quiet "$work/venv"
status 1 "$work/log" env PATH="$work/venv/bin:$PATH" CI_PROJECT_DIR="$folder" \
  PIP_NO_INDEX=1 PIP_FIND_LINKS="$wheels" bash -eo pipefail "$work/script"
python - "$folder.expected" <<'P'
import json
import sys
import xml.etree.ElementTree as xml

shown = open(sys.argv[1]).read().strip()
issue, = json.load(open("gl-code-quality-report.json"))
location = issue["location"]
assert shown == f"{location['path']}, line {location['lines']['begin']}: {issue['check_name']}", issue
assert xml.parse("meshprobe.xml").getroot().attrib["failures"] == "1"
P
done_after 0 "a finding in both reports"

# 5. kustomize.
page kustomize
run 0 1
shown "$work/log"
sed -i.bak 's/httpGet:/tcpSocket:/; /path: \/healthz/d; s/^  namespace: shop$/&\n  annotations: {sidecar.istio.io\/rewriteAppHTTPProbers: "false"}/' web.yaml
run 1 1
has "$work/log" tcp-probe-always-passes
done_after 1 "a rewritten probe, and a build that fails"

# 6. Argo CD: what the repo-server runs.
page argo-cd
options="$(python -c 'import yaml; print(yaml.safe_load(open("argocd-cm.yaml"))["data"]["kustomize.buildOptions"])')"
# shellcheck disable=SC2086 # Argo CD splits them as well
status 1 "$work/log" kustomize build $options .
shown "$work/log"
done_after 0 "a build that fails"

for file in "$root"/docs/start/*.md; do
  [ -d "$work/$(basename "$file" .md)" ] || fail "no test runs $file"
done
pass "all pages of docs/start"

#!/usr/bin/env bash
# Runs the examples of the README: every line of its `sh` blocks, in order, and every YAML snippet.
# tests/it/docs/readme.rs runs its `console` blocks. Local builds replace the published artifacts:
# the wheel replaces PyPI, this tree the repository of the action.
# In the gate, commands that build use the binary and the wheel of the gate instead; .ci/nightly builds.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
find_meshprobe
version="$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml" | head -n 1)"

snippets="$(python "$root/tests/e2e/readme.py" "$root/README.md" "$work/readme")"
[ "$snippets" = 4 ] || fail "expected 4 YAML snippets, found $snippets; test all of them"
python "$root/tests/e2e/readme.py" "$root/docs/reports.md" "$work/reports" >"$work/log"

# Simulates the machine of a user: meshprobe is not on PATH, and the home folder is empty.
export CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}"
export HOME="$work/home"
mkdir -p "$HOME/.cargo/bin"
export PATH="$HOME/.cargo/bin:$PATH" CARGO_TARGET_DIR="$target" CARGO_INSTALL_ROOT="$HOME/.cargo"
virtualenv --quiet "$work/venv"
tree="$work/tree"
mkdir -p "$tree/overlays" "$tree/charts"
cp -R "$root/fixtures/krm/base" "$tree/base"
cp -R "$root/fixtures/krm/production" "$tree/overlays/production"
cp -R "$root/fixtures/krm/base" "$tree/overlays/base"
cp -R "$root/fixtures/helm/shop" "$tree/charts/shop"
cp "$root/fixtures/helm/production.yaml" "$tree/"

if [ "$profile" != release ]; then
  export MESHPROBE_BIN="$meshprobe" MESHPROBE_PROFILE="$profile"
  export PATH="$root/.ci/prebuilt:$PATH"
fi

# 1. The commands, unchanged except for the profile and the folder of the wheel.
while IFS= read -r command; do
  start=$SECONDS
  case "$command" in
    'cargo run --locked -- check --fail-on never fixtures/demo')
      status 0 "$work/log" bash -c "cd '$root' && cargo run --profile $profile ${command#cargo run}"
      has "$work/log" 'Found 3 errors in 2 of 12 files'
      ;;
    'cargo install --locked --path .')
      status 0 "$work/log" bash -c "cd '$root' && $command --profile $profile"
      [ "$(meshprobe --version)" = "meshprobe $version" ] || fail "the installed program has another version"
      ;;
    'ln -s meshprobe ~/.cargo/bin/meshprobe-krm')
      status 0 "$work/log" bash -c "$command"
      meshprobe-krm <<<'{apiVersion: config.kubernetes.io/v1, kind: ResourceList, items: []}' >"$work/log" ||
        fail_with "$work/log" "the link does not run the function"
      ;;
    'bash packaging/wheel.sh dist')
      if [ -n "${MESHPROBE_WHEELS:-}" ]; then
        cp -R "$MESHPROBE_WHEELS" "$work/dist"
      else
        status 0 "$work/log" bash -c "cd '$root' && ${command% dist} '$work/dist' --profile $profile"
      fi
      ;;
    'pip install dist/*.whl')
      status 0 "$work/log" bash -c "cd '$work' && source venv/bin/activate && PIP_NO_INDEX=1 $command"
      [ "$("$work/venv/bin/meshprobe" --version)" = "meshprobe $version" ] || fail "the wheel has another version"
      ;;
    'kustomize build overlays/production | meshprobe rewrite -')
      status 0 "$work/log" bash -o pipefail -c "cd '$tree' && $command"
      has "$work/log" '/app-health/'
      ;;
    'meshprobe check --helm charts/shop --values production.yaml')
      status 1 "$work/log" bash -c "cd '$tree' && $command"
      has "$work/log" 'charts/shop/templates/web.yaml:'
      ;;
    *) fail "this script does not run \`$command\`" ;;
  esac
  pass "$command ($((SECONDS - start)) s)"
done <"$work/readme/commands"

# 2. GitHub: the step in a workflow. The action is this tree, the binary is on PATH.
repository="$work/repository"
mkdir -p "$repository/.github/workflows"
cp -R "$root/action.yml" "$root/action" "$repository/"
cp -R "$root/fixtures/demo" "$repository/clusters"
python - "$work" "$repository" "$version" <<'P'
import pathlib
import sys

import yaml

work, repository = map(pathlib.Path, sys.argv[1:3])
def workflow(steps, **more):
    job = {"runs-on": "ubuntu-latest", "steps": steps, **more}
    return yaml.safe_dump({"name": "test", "on": ["push"], "jobs": {"check": job}}, sort_keys=False)
steps = yaml.safe_load((work / "readme/1.yaml").read_text())
(work / "readme.yml").write_text(workflow(steps))
whole = yaml.safe_load((work / "reports/1.yaml").read_text())
(work / "reports.yml").write_text(workflow(whole["steps"], permissions=whole["permissions"]))
(work / "comment.yml").write_text((work / "reports/2.yaml").read_text())
ours, = [step for step in steps if step["uses"].startswith("meshprobe/")]
assert ours["uses"] == f"meshprobe/meshprobe@v{sys.argv[3]}", ours
ours["uses"] = "./"
ours["with"]["version"] = "path"
(repository / ".github/workflows/test.yml").write_text(workflow(steps))
P
actionlint "$work/readme.yml" "$work/reports.yml" "$work/comment.yml"
check-jsonschema --quiet --builtin-schema vendor.github-workflows "$work/readme.yml" "$work/reports.yml" "$work/comment.yml"
commit_all "$repository"
in_act() {
  (cd "$repository" && XDG_CONFIG_HOME="$work/config" XDG_CACHE_HOME="$work/cache" \
    act push -P ubuntu-latest=-self-hosted --no-cache-server --action-offline-mode)
}
status 1 "$work/log" whole '::error file=clusters/' in_act
has "$work/log" '::error file=clusters/apps/payments/deployment.yaml,line=31,'
has "$work/log" 'Summary - ## meshprobe'
pass "GitHub: the snippet writes annotations and a summary, and fails"

# 3. GitLab: the job is valid, and its script writes the reports that it declares.
for snippet in "$work/reports/4.yaml" "$work/readme/2.yaml"; do
  cp "$snippet" "$work/gitlab-ci.yml"
  check-jsonschema --quiet --builtin-schema vendor.gitlab-ci "$work/gitlab-ci.yml"
done
cmp "$work/readme/2.yaml" "$work/reports/3.yaml" || fail "README and docs/reports.md show different jobs"
python - "$work/gitlab-ci.yml" >"$work/script" <<'P'
import sys

import yaml

print(*yaml.safe_load(open(sys.argv[1]))["meshprobe"]["script"], sep="\n")
P
cp -R "$root/fixtures/demo" "$work/project"
virtualenv --quiet "$work/gitlab"
status 1 "$work/log" env -C "$work/project" PATH="$work/gitlab/bin:$PATH" CI_PROJECT_DIR="$work/project" \
  PIP_NO_INDEX=1 PIP_FIND_LINKS="$work/dist" bash -eo pipefail "$work/script"
[ -x "$work/gitlab/bin/meshprobe" ] || fail "the job did not install the wheel"
python - "$work/gitlab-ci.yml" "$work/project" <<'P'
import json
import pathlib
import sys
import xml.etree.ElementTree as xml

import yaml

reports = yaml.safe_load(open(sys.argv[1]))["meshprobe"]["artifacts"]["reports"]
project = pathlib.Path(sys.argv[2])
issues = json.loads((project / reports["codequality"]).read_text())
assert len(issues) == 3 and all((project / issue["location"]["path"]).is_file() for issue in issues), issues
assert xml.parse(project / reports["junit"]).getroot().attrib["failures"] == "3"
P
pass "GitLab: the job is valid, fails, and writes both reports"

# The job for merge requests compares the merge with the target branch, or else with the base of the branch.
python - "$work/reports/4.yaml" >"$work/script" <<'P'
import sys

import yaml

print(*yaml.safe_load(open(sys.argv[1]))["meshprobe-diff"]["script"], sep="\n")
P
policy="$work/project/infrastructure/mesh/peer-authentication.yaml"
sed -i.bak 's/STRICT/PERMISSIVE/' "$policy"
commit_all "$work/project"
mv "$policy.bak" "$policy"
commit_all "$work/project"
base="$(git -C "$work/project" rev-parse HEAD~1)"
# compare EXPECTED BASE TARGET: runs the job with the two variables.
compare() {
  status "$1" "$work/log" env -C "$work/project" PATH="$work/gitlab/bin:$PATH" CI_PROJECT_DIR="$work/project" \
    CI_MERGE_REQUEST_DIFF_BASE_SHA="$2" CI_MERGE_REQUEST_TARGET_BRANCH_SHA="$3" \
    PIP_NO_INDEX=1 PIP_FIND_LINKS="$work/dist" bash -eo pipefail "$work/script"
}
compare 1 "$base" ''
has "$work/project/meshprobe-diff.md" '2 regressions between'
has "$work/project/meshprobe-diff.xml" 'failures="2"'
compare 0 "$base" HEAD
compare 2 '' ''
pass "GitLab: the job for merge requests fails on regressions, and writes both reports"

# 4. pre-commit: tests/e2e/pre-commit.sh runs the hooks; this checks that the snippet names one of them, at this version.
pre-commit validate-config "$work/readme/3.yaml"
python - "$work/readme/3.yaml" "$root/.pre-commit-hooks.yaml" "$version" <<'P'
import sys

import yaml

config, hooks = (yaml.safe_load(open(path)) for path in sys.argv[1:3])
repository, = config["repos"]
assert repository["rev"] == f"v{sys.argv[3]}", repository
assert {hook["id"] for hook in repository["hooks"]} <= {hook["id"] for hook in hooks}, repository
P
pass "pre-commit: the snippet is valid and names our hooks"

# 5. kustomize: the two files and the flags of the text, with the link that a command above created.
python - "$work/readme/4.yaml" "$tree/overlays/production" <<'P'
import pathlib
import sys

import yaml

transformers, function = open(sys.argv[1]).read().split("---\n")
folder = pathlib.Path(sys.argv[2])
with (folder / "kustomization.yaml").open("a") as kustomization:
    kustomization.write("\n" + transformers)
(folder / "meshprobe.yaml").write_text(function)
yaml.safe_load((folder / "kustomization.yaml").read_text())
P
# shellcheck disable=SC2016 # backticks of Markdown
flags="$(sed -n 's/.*`kustomize build \(--[^`]*\)`.*/\1/p' "$root/README.md")"
# shellcheck disable=SC2086 # the shell of a user splits them
kustomize build $flags "$tree/overlays/production" >"$work/built.yaml" 2>"$work/log" || fail_with "$work/log" "$flags"
has "$work/built.yaml" '/app-health/'
pass "kustomize: built with $flags"

#!/usr/bin/env bash
# Tests that the folders of examples/ work as their READMEs describe. kpt is used if it is installed, because it is not
# available as a Go module; otherwise this script reads its files, and calls the function as kpt does.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
find_meshprobe

judge="$root/tests/e2e/kustomize.py"
cp -R "$root/examples" "$work/examples"
cd "$work/examples"
mkdir "$work/bin"
ln -s "$meshprobe" "$work/bin/meshprobe"
ln -s "$meshprobe" "$work/bin/meshprobe-krm"
export PATH="$work/bin:$PATH"
both=(--enable-alpha-plugins --enable-exec)

kustomize build app >"$work/plain.yaml"
for version in 5.8 5.5; do
  [ "$version" = 5.8 ] || PATH="$tools_kustomize_5_5:$PATH"
  kustomize build "${both[@]}" kustomize-exec >"$work/exec.yaml" 2>"$work/log" || fail_with "$work/log" "kustomize-exec"
  [ ! -s "$work/log" ] || fail_with "$work/log" "the function reports something for a correct application"
  python "$judge" rewritten "$work/plain.yaml" "$work/exec.yaml" web
  kustomize build "${both[@]}" kustomize-validator >"$work/checked.yaml" 2>"$work/log" ||
    fail_with "$work/log" "kustomize-validator"
  cmp "$work/plain.yaml" "$work/checked.yaml" || fail "the validator changed something"
  pass "kustomize $version: as a transformer and as a validator"
done
PATH="$(dirname "$MESHPROBE_KUSTOMIZE"):$PATH"

# The gate fails: with the rewrite switched off, a tcpSocket probe can never fail.
cp -R app app.sound
python - app/app.yaml <<'P'
import pathlib
import sys

path = pathlib.Path(sys.argv[1])
labels = "      labels:\n        app: web\n"
text = path.read_text()
assert labels in text
off = '      annotations:\n        sidecar.istio.io/rewriteAppHTTPProbers: "false"\n'
path.write_text(text.replace(labels, labels + off))
P
for folder in kustomize-exec kustomize-validator; do
  status 1 "$work/log" kustomize build "${both[@]}" "$folder"
  has "$work/log" tcp-probe-always-passes
done
rm -r app && mv app.sound app
pass "both fail the build for a probe that can never fail"

# container.sh runs the container; this script only checks that it is the same function.
python - <<'P'
import yaml

both = [yaml.safe_load(open(f"kustomize-{kind}/meshprobe.yaml")) for kind in ("exec", "container")]
runtimes = [yaml.safe_load(config["metadata"].pop("annotations")["config.kubernetes.io/function"]) for config in both]
assert both[0] == both[1], both
assert runtimes[0] == {"exec": {"path": "meshprobe-krm"}}, runtimes
assert list(runtimes[1]) == ["container"] and list(runtimes[1]["container"]) == ["image"], runtimes
P
version="$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml" | head -n 1)"
has kustomize-container/meshprobe.yaml "image: meshprobe:v$version"
pass "the container example is the same function, of this version"

cp -R kpt-eval "$work/eval"
kustomize fn run "$work/eval" --enable-exec --exec-path meshprobe-krm -- mesh.version=1.28 failOn=error \
  >"$work/log" 2>&1 || fail_with "$work/log" "kustomize fn run"
has "$work/eval/app.yaml" /app-health/web/readyz
# kpt passes all files of the package, including the Kptfile, and the file of configPath.
python - <<'P' >"$work/list.yaml"
import yaml

items = []
for name in ("Kptfile", "app.yaml", "meshprobe.yaml", "namespace.yaml"):
    for index, item in enumerate(yaml.safe_load_all(open(f"kpt-render/{name}"))):
        notes = item["metadata"].setdefault("annotations", {})
        notes |= {"internal.config.kubernetes.io/path": name, "internal.config.kubernetes.io/index": str(index)}
        items.append(item)
step, = items[0]["pipeline"]["mutators"]
assert step["exec"] == "meshprobe-krm", step
config = yaml.safe_load(open("kpt-render/" + step["configPath"]))
resources = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": items, "functionConfig": config}
print(yaml.safe_dump(resources))
P
meshprobe-krm <"$work/list.yaml" >"$work/out.yaml" 2>"$work/log" || fail_with "$work/log" "kpt-render"
has "$work/out.yaml" /app-health/web/readyz
has "$work/out.yaml" 'kind: Kptfile'
if command -v kpt >/dev/null; then
  cp -R kpt-eval "$work/kpt-eval" && cp -R kpt-render "$work/kpt-render"
  kpt fn eval --exec meshprobe-krm "$work/kpt-eval" -- mesh.version=1.28 failOn=error >"$work/log" 2>&1 ||
    fail_with "$work/log" "kpt fn eval"
  kpt fn render --allow-exec "$work/kpt-render" >"$work/log" 2>&1 || fail_with "$work/log" "kpt fn render"
  has "$work/kpt-eval/app.yaml" /app-health/web/readyz
  has "$work/kpt-render/app.yaml" /app-health/web/readyz
  pass "kpt fn eval and kpt fn render"
else
  pass "kpt is not installed: its input works in kustomize fn run, and as a list"
fi

options="$(python -c 'import yaml; print(yaml.safe_load(open("argocd-build-options/argocd-cm.yaml"))["data"]["kustomize.buildOptions"])')"
# shellcheck disable=SC2086 # Argo CD splits them as well
kustomize build $options argocd-build-options >"$work/argo.yaml" 2>"$work/log" || fail_with "$work/log" "the build options"
cmp "$work/exec.yaml" "$work/argo.yaml" || fail "the build with the options of Argo CD has another output"
pass "Argo CD: the build options work"

# generate FOLDER: runs the command of the sidecar.
generate() {
  local words
  readarray -d '' words < <(python - <<'P'
import sys

import yaml

generate = yaml.safe_load(open("argocd-plugin/plugin.yaml"))["spec"]["generate"]
sys.stdout.write("".join(word + "\0" for word in generate["command"] + generate["args"]))
P
  )
  (cd "$1" && "${words[@]}")
}
generate app >"$work/generated.yaml" 2>"$work/log" || fail_with "$work/log" "the plugin"
python "$judge" rewritten "$work/plain.yaml" "$work/generated.yaml" web
mkdir broken
printf 'resources: [nowhere.yaml]\n' >broken/kustomization.yaml
if generate broken >"$work/out.yaml" 2>"$work/log"; then fail "a failed build resulted in an empty application"; fi
has "$work/log" nowhere.yaml
pass "Argo CD: the plugin rewrites, and fails when the build fails"

flux-ci/render.sh app >"$work/rendered.yaml" 2>"$work/log" || fail_with "$work/log" "render.sh"
cmp "$work/generated.yaml" "$work/rendered.yaml" || fail "render.sh has another output"
if flux-ci/render.sh broken >"$work/out.yaml" 2>"$work/log"; then fail "a failed build resulted in an empty artifact"; fi
pass "Flux: rendered in CI"

# An application whose files and folder have names that are options, workflow commands, or shell syntax:
# each example has the same result as with plain names.
# shellcheck source=../../tests/e2e/odd-names.bash
source "$root/tests/e2e/odd-names.bash"
export GITHUB_ACTIONS=true
mv app app.sound
plain_application "$work/plain"
hostile_application app
kustomize build "$work/plain" >"$work/plain.yaml"
# shellcheck disable=SC2046 # names without blanks
rewritten() { python "$judge" rewritten "$work/plain.yaml" "$1" $(hostile_workloads); }
kustomize build "${both[@]}" kustomize-exec >"$work/out.yaml" 2>"$work/log" || fail_with "$work/log" "kustomize-exec"
rewritten "$work/out.yaml"
kustomize build "${both[@]}" kustomize-validator >"$work/out.yaml" 2>"$work/log" || fail_with "$work/log" "kustomize-validator"
python "$judge" same "$work/plain.yaml" "$work/out.yaml"
# shellcheck disable=SC2086 # Argo CD splits them as well
kustomize build $options argocd-build-options >"$work/out.yaml" 2>"$work/log" || fail_with "$work/log" "the build options"
rewritten "$work/out.yaml"
generate app >"$work/generated.yaml" 2>"$work/log" || fail_with "$work/log" "the plugin"
rewritten "$work/generated.yaml"
# shellcheck disable=SC2016 # the name is not expanded
folder=$'--help/$(touch pwned); touch pwned\n::error::x'
mkdir -p -- "./${folder%/*}"
mv app "./$folder"
generate "./$folder" >"$work/out.yaml" 2>"$work/log" || fail_with "$work/log" "the plugin in a hostile folder"
cmp "$work/generated.yaml" "$work/out.yaml" || fail "the plugin has another output in a hostile folder"
flux-ci/render.sh "$folder" >"$work/out.yaml" 2>"$work/log" || fail_with "$work/log" "render.sh with a hostile folder"
cmp "$work/generated.yaml" "$work/out.yaml" || fail "render.sh has another output for a hostile folder"
no_commands "$work/log"
rm "./$folder/kustomization.yaml"
kustomize fn run "./$folder" --enable-exec --exec-path meshprobe-krm -- mesh.version=1.28 failOn=error \
  >"$work/log" 2>&1 || fail_with "$work/log" "kustomize fn run in a hostile folder"
for name in "${hostile[@]}"; do has "./$folder/$name" /app-health/one/readyz; done
not_run . && not_run "$work"
unset GITHUB_ACTIONS
rm -r -- ./--help
mv app.sound app
pass "no example uses file names as options or commands"

# With --enable-exec alone, kustomize silently skips the function, so no page may show that.
if grep -rhE --include='*.md' 'kustomize build.*--enable-exec' "$root/README.md" "$root/docs" . | grep -v -- --enable-alpha-plugins; then
  fail "a page shows --enable-exec without --enable-alpha-plugins"
fi

# Every YAML file is valid, and every configuration matches the published schema.
python - "$root/docs/schema/meshprobe.schema.json" <<'P'
import json
import pathlib
import sys

import jsonschema
import yaml

schema = json.load(open(sys.argv[1]))
configs = 0
for path in sorted(pathlib.Path(".").rglob("*.yaml")):
    for document in yaml.safe_load_all(path.read_text()):
        if document.get("kind") == "MeshProbe":
            jsonschema.validate(document, schema)
            configs += 1
assert configs >= 5, configs
P
pass "the configurations match the schema"

#!/usr/bin/env bash
# Checks the published schemas with an independent validator.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
find_meshprobe

published="$root/docs/schema/meshprobe.schema.json"
"$meshprobe" schema | cmp - "$published" || fail "the program prints a schema that differs from the published one"
check-jsonschema --check-metaschema "$published" >"$work/log" 2>&1 || fail_with "$work/log" "the schema is invalid"
pass "the schema is valid, and equals that of the program"

mkdir "$work/empty"
printf 'a: b\n' >"$work/empty/values.yaml"
python "$root/tests/e2e/schema.py" "$published" "$meshprobe" "$work" >"$work/log" 2>&1 ||
  fail_with "$work/log" "schema and program disagree"
pass "$(cat "$work/log")"

# The configurations in the pages are valid; the definition for catalogs contains the keys that it supports.
python - "$root" "$published" <<'P'
import json
import pathlib
import re
import sys

import jsonschema
import yaml

root = pathlib.Path(sys.argv[1])
schema = json.loads(pathlib.Path(sys.argv[2]).read_text())
seen = 0
for page in [*sorted(root.glob("docs/*.md")), root / "README.md"]:
    for block in re.findall(r"^```yaml\n(.*?)^```", page.read_text(), re.M | re.S):
        for document in yaml.safe_load_all(block):
            if isinstance(document, dict) and document.get("kind") == "MeshProbe":
                jsonschema.validate(document, schema)
                seen += 1
assert seen >= 2, seen

definition = yaml.safe_load((root / "packaging/krm-function.yaml").read_text())
version, = definition["spec"]["versions"]
open_api = version["schema"]["openAPIV3Schema"]
text = json.dumps(open_api)
for word in ("$schema", "$id", "propertyNames", "scopes"):
    assert f'"{word}"' not in text, word
spec = open_api["properties"]["spec"]["properties"]
assert set(schema["properties"]["spec"]["properties"]) - set(spec) == {"root", "scopes"}
assert set(spec["ignore"]["items"]["properties"]) == {"rule", "reason"}
for example in version["examples"]:
    assert (root / "examples" / example.rsplit("/", 1)[1] / "README.md").is_file(), example
config = yaml.safe_load((root / "examples/kustomize-exec/meshprobe.yaml").read_text())
jsonschema.Draft7Validator(open_api).validate(config)
P
pass "the pages and the definition match the schema"

"""Checks that the published schema and the program accept and reject the same configurations.

    schema.py SCHEMA MESHPROBE FOLDER

Starts from one configuration with all keys. In each variant, one key is misspelt or removed, or one value is replaced
by a value of another type or by another word. The schema and the program check each variant independently.
"""

import copy
import json
import operator
import pathlib
import subprocess
import sys

import jsonschema
import yaml

FULL = """
apiVersion: meshprobe.dev/v1alpha1
kind: MeshProbe
metadata: {name: default}
spec:
  mesh: {kind: istio, version: "1.28", rootNamespace: istio-system, revision: canary}
  actions: [check, rewrite]
  form: container
  failOn: note
  emit: items
  context: [.]
  root: true
  assume:
    ambient: false
    cni: true
    cni-enforces-node-traffic: "true"
    injection: all
    mtls: STRICT
    native-sidecars: "false"
    node-version: "1.33"
    revision: canary
    rewrite: true
    root-namespace: istio-system
    status-port: 15099
  scopes:
    - paths: ["clusters/**"]
      assume: {mtls: PERMISSIVE}
      override: {status-port: "15020"}
      rules: {syntax-error: note}
  rules: {syntax-error: error, tcp-probe-always-passes: ignore}
  ignore:
    - {rule: syntax-error, path: "legacy/**", reason: gone in June}
"""

# Configurations that only the schema may reject: an empty value instead of a mapping, and words in lower case.
STRICTER = [
    "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec:\n",
    "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec: {assume: {mtls: strict}}\n",
]


def main(schema_file, meshprobe, folder):
    schema = json.loads(pathlib.Path(schema_file).read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    full = yaml.safe_load(FULL)
    covered = set(paths(full))
    missing = [path for path in keys_of(schema) if path not in covered]
    assert not missing, f"not in the configuration with all keys: {missing}"

    cases = [("unchanged", full), *mutations(full)]
    verdicts = {True: 0, False: 0}
    for what, config in cases:
        fits = validator.is_valid(config)
        taken = takes(meshprobe, folder, yaml.safe_dump(config))
        assert fits == taken, f"{what}: accepted by the schema: {fits}, by the program: {taken}"
        verdicts[fits] += 1
    assert verdicts[True] >= 15 and verdicts[False] >= 150, verdicts
    for text in STRICTER:
        assert takes(meshprobe, folder, text) and not validator.is_valid(yaml.safe_load(text)), text
    print(f"{len(cases)} configurations: both accept {verdicts[True]} and reject {verdicts[False]}")


def takes(meshprobe, folder, text):
    file = pathlib.Path(folder, "config.yaml")
    file.write_text(text)
    command = [meshprobe, "check", "--config", str(file), "empty"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode in (0, 2), run
    assert (run.returncode == 2) == bool(run.stderr.startswith("error: ")), run
    return run.returncode == 0


def mutations(config):
    for path in paths(config):
        *above, key = path
        for what, change in (
            ("without", dict.pop if isinstance(key, str) else list.pop),
            ("misspelt", misspell),
            ("as a word", lambda owner, key: operator.setitem(owner, key, "nonsense!")),
            ("as a number", lambda owner, key: operator.setitem(owner, key, 1.5)),
            ("as a list", lambda owner, key: operator.setitem(owner, key, [[]])),
            ("as a mapping", lambda owner, key: operator.setitem(owner, key, {"nonsense": {}})),
        ):
            changed = copy.deepcopy(config)
            owner = changed
            for step in above:
                owner = owner[step]
            if (isinstance(key, int) and what == "misspelt") or skips(path, what):
                continue
            change(owner, key)
            yield f"{'.'.join(map(str, path))} {what}", changed


def skips(path, what):
    """Returns whether a variant is skipped: both may accept it, or one rejects it for a reason other than the shape."""
    free = path[0] == "metadata" or path[-1] == "metadata"
    # A folder with that name would have to exist.
    context = "context" in path and what != "as a mapping"
    # These values are text, which may also be a number.
    number = what == "as a number" and path[-1] in {"rootNamespace", "revision", "root-namespace", "path", "reason", 0}
    return free or context or number


def misspell(owner, key):
    owner[key + "x"] = owner.pop(key)


def paths(value, above=()):
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield (*above, key)
        yield from paths(child, (*above, key))


def keys_of(schema, above=()):
    for key, child in schema.get("properties", {}).items():
        # The facts are checked in one position only, and names of objects are not checked.
        if (above[-1:] in (("assume",), ("override",)) and "scopes" in above) or key == "name":
            continue
        yield (*above, key)
        yield from keys_of(child, (*above, key))
    if "items" in schema:
        yield from keys_of(schema["items"], (*above, 0))


if __name__ == "__main__":
    main(*sys.argv[1:])

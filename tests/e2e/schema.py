"""Checks that the published schema and the program accept and reject the same configurations.

    schema.py SCHEMA MESHPROBE FOLDER

Starts from one configuration with all keys of the schema, made of its examples, defaults and words. In each variant,
one key is misspelt or removed, or one value is replaced by another. The schema and the program check each variant
independently.
"""

import concurrent.futures
import copy
import itertools
import json
import operator
import pathlib
import subprocess
import sys

import jsonschema
import yaml

# The types that replace each value.
TYPES = ["nonsense!", "", " ", None, True, 0, 1, 1.5, -1, 65536, [], {}, [[]], [None], [{}], {"nonsense": {}}]

# Text near the borders of what is accepted, which also replaces each value.
TEXTS = """
true True false off 0 1 +15020 15020 015020 65535 65536 99999 1. 1.28 v1.28 1-28-3 1.28x 1.28-rc latest istio Istio
appmesh strict Strict ALL all never Never ignore ../x ./x a/../b a/..b/ / ./ .// . /etc ** clusters/
"""

OTHERS = [*TEXTS.split(), " v1.28.3 ", "STRICT ", "error ", False, 65535]

# Each key is tried with one of so many of these values: all together cost more than the gate allows.
STRIDE = 3

# Parts whose spelling PyYAML would not write.
SPELLINGS = """
spec:
spec: ~
metadata:
metadata: x
spec: {root: True}
spec: {root: 'True'}
spec: {assume: }
spec: {assume: {cni: FALSE}}
spec: {mesh: {version: 1.28}}
spec: {mesh: {version: 1.28.0}}
spec: {mesh: {revision: 1.10}}
spec: {rules: }
spec: {context: }
spec: {scopes: [{paths: [x], override: }]}
""".strip().splitlines()

# What only the program rejects: brackets of globs, which a schema cannot check.
LAXER = ["spec: {scopes: [{paths: ['a/[']}]}", "spec: {scopes: [{paths: ['{a']}]}"]

HEAD = "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\n"


def main(schema_file, meshprobe, folder):
    schema = json.loads(pathlib.Path(schema_file).read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    full = sample(schema)
    full["spec"]["context"] = ["."]
    write_baseline(meshprobe, folder, full["spec"]["baseline"])
    texts = {dumped(config): what for what, config in [("unchanged", full), *variants(full)]}
    texts |= {HEAD + text: text for text in SPELLINGS + LAXER}
    numbers = itertools.count()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        runs = pool.map(lambda text: takes(meshprobe, folder, next(numbers), text), texts)
        accepted = dict(zip(texts, runs, strict=True))
    verdicts, wrong = {True: 0, False: 0}, []
    for text, what in texts.items():
        fits = validator.is_valid(yaml.load(text, yaml.CSafeLoader)) and what not in LAXER
        verdicts[fits] += 1
        if fits != accepted[text]:
            wrong.append(f"{what}: accepted by the schema: {fits}, by the program: {accepted[text]}")
    assert not wrong, "\n".join(wrong)
    assert accepted[dumped(full)], "the program rejects the configuration with all keys"
    assert verdicts[True] >= 150 and verdicts[False] >= 800, verdicts
    print(f"{len(texts)} configurations: both accept {verdicts[True]} and reject {verdicts[False]}")


def dumped(config):
    return yaml.dump(config, Dumper=yaml.CSafeDumper)


def write_baseline(meshprobe, folder, name):
    command = [meshprobe, "check", "--write-baseline", name, "empty"]
    subprocess.run(command, cwd=folder, capture_output=True, check=True)


def takes(meshprobe, folder, number, text):
    file = pathlib.Path(folder, f"config-{number}.yaml")
    file.write_text(text)
    command = [meshprobe, "check", "--threads", "1", "--config", str(file), "empty"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    file.unlink()
    assert run.returncode in (0, 2), run
    assert (run.returncode == 2) == bool(run.stderr.startswith("error: ")), run
    return run.returncode == 0


def sample(schema):
    """Returns a value that the schema accepts: a mapping with all keys, an example, the default or a word."""
    if "properties" in schema:
        return {key: sample(child) for key, child in schema["properties"].items()}
    if "propertyNames" in schema:
        return {schema["propertyNames"]["enum"][0]: sample(schema["additionalProperties"])}
    if "examples" in schema:
        return schema["examples"][0]
    if "items" in schema:
        return [sample(schema["items"])]
    if "default" in schema:
        return schema["default"]
    if "anyOf" in schema:
        return sample(schema["anyOf"][0])
    assert "enum" in schema, f"this schema needs `examples` or `default`: {schema}"
    return schema["enum"][0]


def variants(config):
    for index, path in enumerate(paths(config)):
        *above, key = path
        shown = ".".join(map(str, path))
        if isinstance(key, str):
            yield f"{shown} misspelt", changed(config, above, lambda owner, key=key: misspell(owner, key))
        if path[:1] == ("metadata",) and len(path) > 1:
            continue
        yield f"without {shown}", changed(config, above, lambda owner, key=key: owner.pop(key))
        is_fact_of_scope = "scopes" in path and path[-2] in {"assume", "override"}
        # The parser of all facts is the same.
        for value in TYPES if is_fact_of_scope else [*TYPES, *OTHERS[index % STRIDE :: STRIDE]]:
            # A file with that name would have to exist.
            names_file = "context" in path[:-1] or path[-1] == "baseline"
            if names_file and isinstance(value, (str, int, float)) and value != "":
                continue
            replace = lambda owner, key=key, value=value: operator.setitem(owner, key, value)  # noqa: E731
            yield f"{shown}: {value!r}", changed(config, above, replace)


def changed(config, above, change):
    result = copy.deepcopy(config)
    owner = result
    for step in above:
        owner = owner[step]
    change(owner)
    return result


def misspell(owner, key):
    owner[key + "x"] = owner.pop(key)


def paths(value, above=()):
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield (*above, key)
        yield from paths(child, (*above, key))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Writes the schemas of built-in kinds for kubeconform: `schemas.py RELEASE FOLDER`.

The schemas come from the Python package kubernetes-validate. Each one contains only the definitions that it refers to.
"""

import json
import pathlib
import re
import sys

import kubernetes_validate

REFERENCE = re.compile(r'"#/\$defs/([^"]+)"')


def needed(text, definitions):
    """Returns the definitions that a schema refers to, directly or indirectly."""
    found, waiting = {}, REFERENCE.findall(text)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = definitions[name]
            waiting += REFERENCE.findall(json.dumps(definitions[name]))
    return found


def local(path):
    """Returns the text of a schema, with references into the same file."""
    return path.read_text().replace('"/api/_definitions.json#', '"#')


def main():
    release, target = sys.argv[1], pathlib.Path(sys.argv[2])
    source = pathlib.Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema"
    source = source / f"{release}-local-strict"
    definitions = json.loads(local(source / "_definitions.json"))["$defs"]
    target.mkdir()
    for path in source.glob("*-v*.json"):
        text = local(path)
        schema = json.loads(text)
        schema.pop("$id", None)
        schema["$defs"] = needed(text, definitions)
        (target / path.name).write_text(json.dumps(schema))


main()

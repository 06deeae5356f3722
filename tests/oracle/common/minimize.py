"""Deletes fields of a manifest as long as a condition still holds."""

import copy
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

Path = tuple[str | int, ...]
# A workload, or the documents of a file.
Manifest = TypeVar("Manifest")
# Without these, the manifest is not a valid workload.
REQUIRED = {
    "apiVersion",
    "kind",
    "metadata",
    "name",
    "namespace",
    "spec",
    "template",
    "jobTemplate",
    "containers",
    "image",
    "port",
}


def paths(value: Any, prefix: Path = ()) -> Iterator[Path]:
    """Returns the paths of all fields and items, outer ones first."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    children = [(*prefix, key) for key, _ in entries]
    yield from children
    for path, (_, child) in zip(children, value.items() if isinstance(value, dict) else enumerate(value), strict=True):
        if isinstance(child, dict | list):
            yield from paths(child, path)


def without(manifest: Manifest, path: Path) -> Manifest | None:
    """Returns a copy without the field or item at a path; None if the path does not exist."""
    manifest = copy.deepcopy(manifest)
    parent: Any = manifest
    try:
        for key in path[:-1]:
            parent = parent[key]
        del parent[path[-1]]
    except (KeyError, IndexError, TypeError):
        return None
    return manifest


def minimize(manifest: Manifest, holds: Callable[[Manifest], bool], attempts: int = 400) -> Manifest:
    """Returns a smaller manifest for which the condition holds. No single field of it can be deleted."""
    changed = True
    while changed and attempts > 0:
        changed = False
        for path in list(paths(manifest)):
            smaller = None if path[-1] in REQUIRED else without(manifest, path)
            if smaller is None or attempts <= 0:
                continue
            attempts -= 1
            if holds(smaller):
                manifest, changed = smaller, True
                break
    return manifest

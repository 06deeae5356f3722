"""Reads the handlers of pods and compares values."""

from typing import Any

Json = dict[str, Any]
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
HOOKS = ("postStart", "preStop")


def handlers(pod: Json, own: tuple[str, ...]) -> Json:
    """Returns the probes and hooks of the application, as the kubelet sees them; `own` are containers of the mesh."""
    found: Json = {}
    for group in ("initContainers", "containers"):
        for container in pod["spec"].get(group) or []:
            if container["name"] in own:
                continue
            slots = {slot: container.get(slot) for slot in PROBES}
            slots.update({slot: (container.get("lifecycle") or {}).get(slot) for slot in HOOKS})
            for slot, handler in slots.items():
                if handler is not None:
                    found[f"{group}/{container['name']}/{slot}"] = handler
    return found


def first_difference(expected: Any, actual: Any, path: str = "") -> str:
    """Returns the first path at which two values differ, with both values; empty if they are equal."""
    if expected == actual:
        return ""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted(expected.keys() | actual.keys()):
            if difference := first_difference(expected.get(key), actual.get(key), f"{path}/{key}"):
                return difference
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, pair in enumerate(zip(expected, actual, strict=True)):
            if difference := first_difference(*pair, f"{path}/{index}"):
                return difference
    return f"{path or '/'}: expected {shorten(expected)}, got {shorten(actual)}"


def shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 400 else text[:400] + "..."

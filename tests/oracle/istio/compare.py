"""Compares injected pods, and predictions with injected pods."""

import copy
from typing import Any

Json = dict[str, Any]
PROBER_ENV = "ISTIO_KUBE_APP_PROBERS"
PROXY = "istio-proxy"
# The rewrite changes these annotations; docs/rewrite.md lists them.
ANNOTATIONS = ("sidecar.istio.io/rewriteAppHTTPProbers", "proxy.istio.io/config", "proxy.istio.io/overrides")
# Environment variables of the sidecar that repeat annotations of the pod.
COPIES = ("PROXY_CONFIG", "ISTIO_METAJSON_ANNOTATIONS", PROBER_ENV)
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
HOOKS = ("postStart", "preStop")


def handlers(pod: Json) -> Json:
    """Returns the probes and hooks of the application, as the kubelet sees them."""
    found: Json = {}
    for group in ("initContainers", "containers"):
        for container in pod["spec"].get(group) or []:
            if container["name"] == PROXY:
                continue
            slots = {slot: container.get(slot) for slot in PROBES}
            slots.update({slot: (container.get("lifecycle") or {}).get(slot) for slot in HOOKS})
            for slot, handler in slots.items():
                if handler is not None:
                    found[f"{group}/{container['name']}/{slot}"] = handler
    return found


def remainder(pod: Json) -> Json:
    """Returns the pod without probes, the prober env, and what the forms are documented to change."""
    pod = copy.deepcopy(pod)
    annotations = pod["metadata"].get("annotations") or {}
    pod["metadata"]["annotations"] = {key: value for key, value in annotations.items() if key not in ANNOTATIONS}
    for group in ("initContainers", "containers"):
        for container in pod["spec"].get(group) or []:
            if container["name"] in (PROXY, "istio-init", "istio-validation"):
                env = container.pop("env", None) or []
                container["env"] = [entry for entry in env if entry["name"] not in COPIES]
                container.pop("imagePullPolicy", None)
            else:
                for slot in (*PROBES, "lifecycle"):
                    container.pop(slot, None)
    return pod


def effect(answer: Json, again: bool = False) -> Json:
    """Returns the parts of an injected pod that have to be equal."""
    pod, agent = (answer.get("again"), answer.get("againAgent")) if again else (answer["pod"], answer.get("agent"))
    if pod is None:
        return {"denied": answer.get("againDenied", "denied")}
    return {"handlers": handlers(pod), "agent": agent, "rest of the pod": remainder(pod)}


def differences(expected: Json, actual: Json) -> Json:
    """Returns the parts of two effects that differ, each with the first difference."""
    parts = sorted(expected.keys() | actual.keys())
    found = {part: first_difference(expected.get(part), actual.get(part)) for part in parts}
    return {part: difference for part, difference in found.items() if difference}


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


def predicted(handler: Json) -> Json | None:
    """Returns the predicted request of the kubelet, or None if the handler is not rewritten."""
    return handler["becomes"]["httpGet"] if handler["becomes"] else None


def injected(before: Json | None, after: Json | None) -> Json | None:
    """Returns the request of the kubelet after injection, or None if the handler did not change."""
    if before == after or after is None:
        return None
    action: Json = after.get("httpGet") or {}
    keep = {key: action[key] for key in ("path", "port", "httpHeaders", "host") if key in action}
    return keep if action.get("scheme", "HTTP") == "HTTP" else {**keep, "scheme": action["scheme"]}

"""Compares injected pods, and predictions with injected pods."""

import copy
from typing import Any

import pods
from pods import PROBES, first_difference

Json = dict[str, Any]
PROBER_ENV = "ISTIO_KUBE_APP_PROBERS"
PROXY = "istio-proxy"
# The rewrite changes these annotations; docs/rewrite.md lists them.
ANNOTATIONS = ("sidecar.istio.io/rewriteAppHTTPProbers", "proxy.istio.io/config", "proxy.istio.io/overrides")
# Environment variables of the sidecar that repeat annotations of the pod.
COPIES = ("PROXY_CONFIG", "ISTIO_METAJSON_ANNOTATIONS", PROBER_ENV)
# The last part of the path on which the agent serves a slot.
SUFFIXES = {
    "livenessProbe": "livez",
    "readinessProbe": "readyz",
    "startupProbe": "startupz",
    "postStart": "poststartz",
    "preStop": "prestopz",
}
FALSE = ("0", "f", "F", "false", "False", "FALSE")


def handlers(pod: Json) -> Json:
    """Returns the probes and hooks of the application, as the kubelet sees them."""
    return pods.handlers(pod, (PROXY,))


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


def kept_hosts(before: Json, after: Json) -> frozenset[str]:
    """Returns the slots that the rewrite leaves as written because they target another host."""

    def has_host(handler: Json) -> bool:
        return any((handler.get(kind) or {}).get("host") for kind in ("httpGet", "tcpSocket"))

    if before["before"] == after["before"]:
        return frozenset()
    written = handlers(before["before"])
    slots = handlers(after["before"]).items()
    return frozenset(slot for slot, handler in slots if has_host(handler) and handler == written.get(slot))


def changed_hosts(after: Json, kept: frozenset[str]) -> dict[str, str]:
    """Returns the first of these slots that Istio changes in the rewritten pod."""
    written, injected = handlers(after["before"]), handlers(after["pod"])
    for slot in sorted(kept):
        if difference := first_difference(written.get(slot), injected.get(slot)):
            return {"kept host": f"{slot}: {difference}"}
    return {}


def agent_path(slot: str) -> str:
    """Returns the path on which the agent serves a slot."""
    _, container, name = slot.split("/")
    prefix = "app-health" if name in PROBES else "app-lifecycle"
    return f"/{prefix}/{container}/{SUFFIXES[name]}"


def effect(answer: Json, again: bool, exact: bool, kept: frozenset[str] = frozenset()) -> Json:
    """Returns the parts of an injected pod that have to be equal, without the slots that the rewrite keeps.

    `exact` includes the bytes of the prober env.
    """
    pod, agent = (answer.get("again"), answer.get("againAgent")) if again else (answer["pod"], answer.get("agent"))
    if pod is None:
        return {"denied": answer.get("againDenied", "denied")}
    agent = {key: value for key, value in (agent or {}).items() if (exact and not kept) or key != "env"}
    unserved_paths = {agent_path(slot) for slot in kept}
    if kept and agent.get("probers"):
        agent["probers"] = {path: prober for path, prober in agent["probers"].items() if path not in unserved_paths}
    compared = {slot: handler for slot, handler in handlers(pod).items() if slot not in kept}
    return {"handlers": compared, "agent": agent, "rest of the pod": remainder(pod)}


def has_prober_env(answer: Json) -> bool:
    """Returns whether the manifest contains a prober env. Its bytes can change if entries are added."""
    containers = [*(answer["before"]["spec"].get("initContainers") or []), *answer["before"]["spec"]["containers"]]
    return any(entry["name"] == PROBER_ENV for container in containers for entry in container.get("env") or [])


def differences(expected: Json, actual: Json) -> Json:
    """Returns the parts of two effects that differ, each with the first difference."""
    parts = sorted(expected.keys() | actual.keys())
    found = {part: first_difference(expected.get(part), actual.get(part)) for part in parts}
    return {part: difference for part, difference in found.items() if difference}


def prediction_differences(before: Json, after: Json | None, prediction: Json) -> dict[str, str]:
    """Compares the predicted request of the kubelet with that of the injected pod, and the fields that it keeps.

    Host and headers are a check of their own, because the injector does not change them.
    """
    action: Json = {"scheme": "HTTP", **((after or {}).get("httpGet") or {})}
    if not prediction["becomes"]:
        unchanged = first_difference(before, after)
        return {"prediction": unchanged}
    becomes = {"scheme": "HTTP", **prediction["becomes"]["httpGet"]}
    changed, kept = ("path", "port", "scheme"), ("host", "httpHeaders")

    def difference(keys: tuple[str, ...]) -> str:
        return first_difference({key: action.get(key) for key in keys}, {key: becomes.get(key) for key in keys})

    return {"prediction": difference(changed), "kept fields": difference(kept)}


def invalid_port(answer: Json) -> str:
    """Returns why the API server rejects the injected pod: the injector has set the port of a probe to 0."""
    if not answer.get("pod"):
        return ""
    before = handlers(answer["before"])
    for slot, handler in handlers(answer["pod"]).items():
        changed = handler != before.get(slot)
        if changed and (handler.get("httpGet") or {}).get("port") == 0:
            return f"the API server rejects port 0 of {slot}"
    return ""


def is_served_by_manifest(answer: Json) -> bool:
    """Returns whether the manifest contains its sidecar or an earlier rewrite, so that Istio rewrites nothing."""
    if not answer.get("pod"):
        return False
    not_injected = bool(answer.get("agent")) and answer["before"] == answer["pod"]
    annotations = answer["before"]["metadata"].get("annotations") or {}
    return not_injected or (annotations.get(ANNOTATIONS[0]) in FALSE and has_prober_env(answer))


def unserved(answer: Json) -> dict[str, str]:
    """Returns the probes that target the agent and have no entry in the prober env."""
    if not answer.get("pod"):
        return {"denied": str(answer.get("denied") or answer.get("undecoded"))}
    agent = answer.get("agent") or {}
    if agent.get("error"):
        return {"agent": agent["error"]}
    actions = [handler.get("httpGet") or {} for handler in handlers(answer["pod"]).values()]
    targets = [action["path"] for action in actions if str(action.get("path")).startswith(("/app-health/", "/app-lif"))]
    missing = [path for path in targets if path not in (agent.get("probers") or {})]
    return {"prober env": f"no entry for {missing}"} if missing else {}

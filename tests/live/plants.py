"""Errors that the proof must find, one at a time: the values of --plant."""

import json
from collections.abc import Callable

from json_types import Json

# A port on which no process listens.
WRONG_PORT = 1


def _wrong_port(prober: Json) -> None:
    for check in prober.values():
        if isinstance(check, dict):
            check["port"] = WRONG_PORT


def _lose(handler: str, name: str) -> Callable[[Json], None]:
    def without(prober: Json) -> None:
        prober.get(handler, {}).pop(name, None)
    return without


def _lose_timeout(prober: Json) -> None:
    prober.pop("timeoutSeconds", None)


# Name -> (effect, change to each entry of the prober env).
ENV = {
    "wrong-port": ("the prober env names a port on which no process listens", _wrong_port),
    "lost-path": ("the prober env lacks the paths", _lose("httpGet", "path")),
    "lost-scheme": ("the prober env lacks the schemes", _lose("httpGet", "scheme")),
    "lost-service": ("the prober env lacks the services of gRPC", _lose("grpc", "service")),
    "lost-timeout": ("the prober env lacks the timeouts", _lose_timeout),
}
NO_REDIRECT, ANY_CLIENT, RULE_OFF, BLIND, NO_REWRITE, OSM_PORT = (
    "no-redirect", "any-client", "rule-off", "blind", "no-rewrite", "osm-port")
PLANTS = {name: effect for name, (effect, _) in ENV.items()} | {
    NO_REDIRECT: "the rule that redirects to Envoy is missing",
    ANY_CLIENT: "Envoy does not require a certificate of its clients",
    RULE_OFF: "the rule strict-probe-not-rewritten is switched off",
    BLIND: "predict reads every mode as PERMISSIVE",
    NO_REWRITE: "the function in kustomize build does not have the action rewrite",
    OSM_PORT: "Envoy's clusters for OSM target a port on which no process listens",
}


def planted_env(plant: str | None, probers: str) -> str:
    """Returns the prober env, with the planted error if it concerns the env."""
    if plant not in ENV:
        return probers
    table = json.loads(probers)
    for prober in table.values():
        ENV[plant][1](prober)
    return json.dumps(table)


def mislead(clusters: list[Json]) -> None:
    """Changes the port of clusters to a wrong one."""
    for cluster in clusters:
        for endpoints in cluster["load_assignment"]["endpoints"]:
            for endpoint in endpoints["lb_endpoints"]:
                endpoint["endpoint"]["address"]["socket_address"]["port_value"] = WRONG_PORT

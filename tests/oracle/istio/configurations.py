"""Generates Istio's own objects: a valid object, usually with one or two changed fields."""

import copy
from collections.abc import Iterator
from typing import Any

from generate import Generator

Json = dict[str, Any]
Path = tuple[Any, ...]

MODES = ("STRICT", "PERMISSIVE", "DISABLE", "UNSET")
# Values of other types and ranges, for any field.
ODD_VALUES = (
    None, "", "x", "*", "8080", " ", "strict", "HTTP", 0, 1, -1, 70000, 1.5, True, [], {}, ["x"], [""], {"x": "y"},
)  # fmt: skip
KEYS = (
    "request.headers[x-token]", "source.ip", "remote.ip", "source.namespace", "source.principal",
    "request.auth.principal", "request.auth.claims[iss]", "destination.ip", "destination.port", "connection.sni",
    "request.headers", "source.port", "experimental.envoy.filters.a.b[c]", "",
)  # fmt: skip


class ConfigurationGenerator(Generator):
    """Builds PeerAuthentications, AuthorizationPolicies and WorkloadGroups."""

    def configuration(self, index: int) -> Json:
        kind, api, spec = self.one((self.peer_authentication, self.authorization_policy, self.workload_group))()
        namespace = self.one(("shop", "shop", "istio-system"))
        metadata: Json = {"name": f"object-{index:05}", "namespace": namespace}
        manifest: Json = {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}
        for _ in range(self.one((0, 1, 1, 1, 2))):
            self.change(manifest["spec"])
        return manifest

    def peer_authentication(self) -> tuple[str, str, Json]:
        spec: Json = {"mtls": {"mode": self.one(MODES)}} if self.chance(0.9) else {}
        if self.chance(0.6):
            spec["selector"] = {"matchLabels": {"app": "web"}}
            if self.chance(0.6):
                spec["portLevelMtls"] = {port: {"mode": self.one(MODES)} for port in self.some(("8080", "9090", "1"))}
        return "PeerAuthentication", self.api("security"), spec

    def authorization_policy(self) -> tuple[str, str, Json]:
        spec: Json = {}
        if self.chance(0.6):
            spec["selector"] = {"matchLabels": {"app": "web"}}
        elif self.chance(0.4):
            targets = (("", "Service"), ("gateway.networking.k8s.io", "Gateway"), ("apps", "Deployment"))
            group, kind = self.one(targets)
            spec["targetRefs"] = [{"group": group, "kind": kind, "name": "web"}]
        if self.chance(0.8):
            spec["action"] = self.one(("ALLOW", "ALLOW", "DENY", "AUDIT", "CUSTOM"))
            if spec["action"] == "CUSTOM":
                spec["provider"] = {"name": "ext"}
        if self.chance(0.9):
            spec["rules"] = [self.authorization_rule() for _ in range(self.one((1, 1, 2)))]
        return "AuthorizationPolicy", self.api("security"), spec

    def authorization_rule(self) -> Json:
        rule: Json = {}
        if self.chance(0.6):
            rule["from"] = [{"source": self.fields({
                "principals": ("cluster.local/ns/a/sa/b", "*", "*/sa/b"), "requestPrincipals": ("*", "iss/sub"),
                "namespaces": ("shop", "a*"), "ipBlocks": ("10.0.0.0/8", "10.1.2.3", "::1/128", "10.0.0.0/99"),
                "remoteIpBlocks": ("10.0.0.0/8",), "notNamespaces": ("x",), "serviceAccounts": ("shop/web", "web"),
            })}]  # fmt: skip
        if self.chance(0.6):
            rule["to"] = [{"operation": self.fields({
                "ports": ("8080", "80", "http", "0", "70000"), "methods": ("GET", "POST", "*"), "hosts": ("web", "*.x"),
                "paths": ("/healthz", "/a*", "*", "/{*}", "/a/{**}", "{*}x/{**}/b", "/a/*/b"), "notPorts": ("8080",),
            })}]  # fmt: skip
        if self.chance(0.3):
            rule["when"] = [{"key": self.one(KEYS), "values": self.some(("x", "10.0.0.0/8", "8080"))}]
        return rule

    def workload_group(self) -> tuple[str, str, Json]:
        spec: Json = {"template": {"ports": {"http": 8080}, "serviceAccount": "web"}}
        if self.chance(0.3):
            spec["metadata"] = {"labels": {"app": "web"}, "annotations": {"a": "b"}}
        if self.chance(0.9):
            spec["probe"] = self.machine_probe()
        return "WorkloadGroup", self.api("networking"), spec

    def machine_probe(self) -> Json:
        headers = [{"name": self.one(("X-A", "Accept", "x_y", "x.y", "a b", "")), "value": "1"}]
        http: Json = {"port": 8080}
        for field, values in (("path", ("/", "/ready?x=1", "ready", "")), ("host", ("127.0.0.1", "web")),
                              ("scheme", ("HTTP", "HTTPS")), ("httpHeaders", (headers,))):  # fmt: skip
            if self.chance(0.4):
                http[field] = self.one(values)
        handlers = {"httpGet": http, "tcpSocket": {"port": 8080, "host": "localhost"}, "exec": {"command": ["true"]},
                    "grpc": {"port": 9000, "service": "x"}}  # fmt: skip
        handler = self.one(("httpGet", "httpGet", "httpGet", "tcpSocket", "exec", "grpc"))
        probe: Json = {handler: handlers[handler]}
        for field in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
            if self.chance(0.3):
                probe[field] = self.one((0, 1, 5, 30))
        return probe

    def api(self, group: str) -> str:
        return f"{group}.istio.io/{self.one(('v1', 'v1', 'v1beta1'))}"

    def some(self, values: tuple[Any, ...]) -> list[Any]:
        return self.random.sample(values, self.one((1, 1, min(2, len(values)))))

    def fields(self, known: dict[str, tuple[Any, ...]]) -> Json:
        return {field: self.some(known[field]) for field in self.some(tuple(known))}

    def change(self, spec: Json) -> None:
        """Deletes a field, sets it to another value, or adds an unknown field."""
        places = list(slots(spec))
        if not places:
            spec["nosuch"] = 1
            return
        parent, key = self.one(places)
        action = self.random.random()
        if action < 0.25:
            del parent[key]
        elif action < 0.9 or not isinstance(parent, dict):
            parent[key] = copy.deepcopy(self.one(ODD_VALUES))
        else:
            parent[self.one(("nosuch", "Mode", "readinessProbe"))] = parent[key]


def slots(value: Any) -> Iterator[tuple[Any, Any]]:
    """Returns each container below a value with each of its keys."""
    entries = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
    for key, child in entries:
        yield value, key
        yield from slots(child)


def generate_configurations(seed: int, count: int) -> Iterator[Json]:
    """Returns `count` objects with unique names."""
    generator = ConfigurationGenerator(seed)
    for index in range(count):
        yield generator.configuration(index)

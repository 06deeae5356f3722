"""Generates workloads of wide variety. The same seed and count always give the same workloads.

A mesh derives from `Generator` and adds its labels, annotations and sidecars.
"""

import random
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]

KINDS = ("Deployment", "Deployment", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob", "Pod")
API_VERSIONS = {"Job": "batch/v1", "CronJob": "batch/v1", "Pod": "v1"}
PROBES = ("readinessProbe", "livenessProbe", "startupProbe")
HOOKS = ("postStart", "preStop")
PORT_NAMES = ("http", "grpc", "metrics", "https-web", "tcp", "admin")
PATHS = (
    "/", "/healthz", "/ready?full=1&x=<y>", "/a b", "/ü/ß", "/a%20b", "/q'uote\"", "/back\\slash", "/a#b", "ready",
    "/long/" + "x" * 120, "/{{name}}", "/a:b,c", "/\u2028sep",
)  # fmt: skip
ODD_PATHS = ("//double", "/100%", "http://other.test/x", "/$(POD)", "/$$x", "/\u0085next", "/tab\there")


class Generator:
    """Builds workloads from one random stream."""

    # Ports that few manifests contain; a mesh adds its own.
    ODD_PORTS: tuple[int | str, ...] = ("nosuch", "8080", "HTTP", 0, -1, 70000)

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def one(self, values: Any) -> Any:
        return self.random.choice(values)

    def workload(self, index: int) -> Json:
        kind = self.one(KINDS)
        name = f"pod-{index:05}"
        metadata: Json = {"name": name}
        if self.chance(0.1):
            metadata["namespace"] = self.one(("shop", "shop", "shop", "kube-system"))
        template = self.template()
        if kind == "Pod":
            template["metadata"].update(metadata)
            return {"apiVersion": "v1", "kind": kind, **template}
        spec: Json = {"template": template}
        if kind not in ("Job", "CronJob"):
            spec = {"selector": {"matchLabels": {"app": "web"}}, **spec}
        if kind == "CronJob":
            spec = {"schedule": "@daily", "jobTemplate": {"spec": spec}}
        return {"apiVersion": API_VERSIONS.get(kind, "apps/v1"), "kind": kind, "metadata": metadata, "spec": spec}

    def template(self) -> Json:
        metadata: Json = {"labels": {"app": "web", **self.labels()}}
        if annotations := self.annotations():
            metadata["annotations"] = annotations
        spec: Json = {}
        names = ["app", "web", "worker", "agent-1", "x" * 63]
        self.random.shuffle(names)
        if self.chance(0.3):
            spec["initContainers"] = [self.init_container(f"init-{index}") for index in range(self.one((1, 1, 2)))]
        spec["containers"] = [self.container(names[index]) for index in range(self.one((1, 1, 1, 2, 2, 3)))]
        if len(spec["containers"]) > 1 and self.chance(0.01):
            spec["containers"][1]["name"] = spec["containers"][0]["name"]
        if self.chance(0.12):
            self.add_proxy(metadata, spec)
        if self.chance(0.03):
            spec["hostNetwork"] = True
        if self.chance(0.1):
            spec["restartPolicy"] = "Always"
        if self.chance(0.1):
            spec["securityContext"] = {"runAsUser": 1000, "fsGroup": 1000}
        return {"metadata": metadata, "spec": spec}

    def labels(self) -> Json:
        """Returns the labels of a pod in addition to `app`."""
        return {}

    def annotations(self) -> Json:
        """Returns the annotations of a pod."""
        return {}

    def add_proxy(self, metadata: Json, spec: Json) -> None:
        """Adds a sidecar that the manifest contains. It is called for 12 % of the pods."""

    def container(self, name: str) -> Json:
        container: Json = {"name": name, "image": self.one(("example.test/app:1", "app", "app:latest", "a@sha256:0"))}
        names = list(PORT_NAMES)
        self.random.shuffle(names)
        ports = []
        for index in range(self.one((0, 1, 1, 2, 3))):
            port: Json = {"containerPort": 8080 + index}
            if self.chance(0.8):
                port["name"] = names[index]
            if self.chance(0.1):
                port["protocol"] = self.one(("TCP", "UDP"))
            ports.append(port)
        if ports:
            container["ports"] = ports
        for slot in PROBES:
            if self.chance(0.45):
                container[slot] = {**self.handler(ports, probe=True), **self.timing()}
        hooks = {slot: self.handler(ports, probe=False) for slot in HOOKS if self.chance(0.12)}
        if hooks:
            container["lifecycle"] = hooks
        if self.chance(0.15):
            container["env"] = [{"name": "MODE", "value": "a"}]
        if self.chance(0.15):
            container["resources"] = {"limits": {"memory": "64Mi"}}
        return container

    def init_container(self, name: str) -> Json:
        container = self.container(name)
        if self.chance(0.5):
            container["restartPolicy"] = "Always"
        elif self.chance(0.95):
            # The API server rejects probes of a plain init container.
            for slot in (*PROBES, "lifecycle"):
                container.pop(slot, None)
        return container

    def timing(self) -> Json:
        fields = ("timeoutSeconds", "periodSeconds", "failureThreshold", "initialDelaySeconds")
        return {field: self.one((0, 1, 2, 5, 30)) for field in fields if self.chance(0.25)}

    def port(self, ports: list[Json]) -> int | str:
        names = [port["name"] for port in ports if "name" in port]
        if names and self.chance(0.4):
            return str(self.one(names))
        odd = self.chance(0.02)
        chosen: int | str = self.one(self.ODD_PORTS if odd else (8080, 8081, 9090, 443, 1))
        return chosen

    def handler(self, ports: list[Json], probe: bool) -> Json:
        makers: list[Callable[[list[Json]], Json]] = [self.http, self.http, self.http, self.tcp, self.exec]
        makers += [self.grpc, self.grpc] if probe else [self.sleep]
        handler: Json = self.one(makers)(ports)
        if self.chance(0.004):
            handler.update(self.one(makers)(ports))
        if self.chance(0.002):
            handler = {}
        return handler

    def http(self, ports: list[Json]) -> Json:
        action: Json = {"port": self.port(ports)}
        if self.chance(0.9):
            action["path"] = self.one(ODD_PATHS if self.chance(0.02) else PATHS)
        if self.chance(0.3):
            action["scheme"] = self.one(("HTTP", "HTTPS", "HTTPS"))
        if self.chance(0.02):
            action["host"] = self.one(("127.0.0.1", "db.example.test", "localhost", ""))
        if self.chance(0.2):
            headers = [{"name": "X-Probe", "value": 'a "b" & <c>'}, {"name": "Host", "value": "web.test"}]
            action["httpHeaders"] = self.random.sample(headers, self.one((0, 1, 2)))
        return {"httpGet": action}

    def tcp(self, ports: list[Json]) -> Json:
        action: Json = {"port": self.port(ports)}
        if self.chance(0.02):
            action["host"] = "127.0.0.1"
        return {"tcpSocket": action}

    def grpc(self, ports: list[Json]) -> Json:
        port = self.port(ports)
        action: Json = {"port": port if isinstance(port, int) else 9090}
        if self.chance(0.4):
            action["service"] = self.one(("", "health", 'a"b'))
        return {"grpc": action}

    def exec(self, _ports: list[Json]) -> Json:
        return {"exec": {"command": ["cat", "/tmp/ready"]}}

    def sleep(self, _ports: list[Json]) -> Json:
        return {"sleep": {"seconds": 1}}

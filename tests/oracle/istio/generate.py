"""Generates workloads of wide variety. The same seed and count always give the same workloads.

Most features are common in real manifests. Features that `rewrite` refuses have a low probability, so that most pods
are compared; each of them still occurs many times in 2,000 pods.
"""

import json
import random
import re
from collections.abc import Callable, Iterator
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
PROXY_CONFIGS = (
    "holdApplicationUntilProxyStarts: true\n",
    "concurrency: 2\nproxyMetadata:\n  LOG_FORMAT: json\n  QUOTED: 'a: b # c'\n",
    '{"proxyMetadata": {"A": "1"}, "drainDuration": "30s"}',
    "# comment\nterminationDrainDuration: 20s # end\n",
    "proxyMetadata: {}\n",
    "proxyMetadata:\n",
    "",
)
ODD_PROXY_CONFIGS = (
    "proxy_metadata:\n  A: '1'\n", "statusPort: 15033\n", "proxyMetadata: {A: 1}\n", "concurrency: many\n",
    "unknownField: 1\n", "proxyMetadata: [a]\n", ": not yaml [", "status_port: '15033'\n",
)  # fmt: skip
TRAFFIC_ANNOTATIONS = (
    ("traffic.sidecar.istio.io/excludeInboundPorts", ("8080", "8080,9090", "", "http", "70000")),
    ("traffic.sidecar.istio.io/includeInboundPorts", ("*", "8080", "", "a,b")),
    ("traffic.sidecar.istio.io/includeOutboundIPRanges", ("*", "10.0.0.0/8", "10.0.0.0/99")),
    ("sidecar.istio.io/proxyCPU", ("100m",)),
    ("sidecar.istio.io/interceptionMode", ("REDIRECT", "TPROXY", "NONE", "OTHER")),
    ("sidecar.istio.io/nativeSidecar", ("true", "false")),
    ("sidecar.istio.io/logLevel", ("debug",)),
    ("sidecar.istio.io/userVolume", ('[{"name":"v","emptyDir":{}}]',)),
    ("prometheus.io/scrape", ("true", "false")),
    ("prometheus.io/port", ("9090",)),
    ("readiness.status.sidecar.istio.io/initialDelaySeconds", ("5",)),
    ("inject.istio.io/templates", ("sidecar", "sidecar", "grpc-agent", "gateway", "nosuch")),
)
STATUS_PORTS = ("15022", "15021", "15020", "0", "", "abc", "70000", " 15022 ", "+15022")
BOOLEANS = ("true", "false", "false", "0", "F", "no", "off", "", "False", "1")


class Generator:
    """Builds workloads from one random stream."""

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
        labels: Json = {}
        if self.chance(0.06):
            labels["sidecar.istio.io/inject"] = self.one(("true", "true", "false", "no", ""))
        if self.chance(0.1):
            labels["version"] = "v1"
        return labels

    def annotations(self) -> Json:
        annotations: Json = {}
        if self.chance(0.1):
            annotations["sidecar.istio.io/rewriteAppHTTPProbers"] = self.one(BOOLEANS)
        if self.chance(0.05):
            annotations["status.sidecar.istio.io/port"] = self.one(STATUS_PORTS)
        if self.chance(0.2):
            odd = self.chance(0.15)
            annotations["proxy.istio.io/config"] = self.one(ODD_PROXY_CONFIGS if odd else PROXY_CONFIGS)
        for name, values in TRAFFIC_ANNOTATIONS:
            if self.chance(0.04):
                annotations[name] = self.one(values)
        if self.chance(0.02):
            annotations["sidecar.istio.io/inject"] = self.one(("true", "false"))
        return annotations

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
        if self.chance(0.02):
            return self.one(("nosuch", "8080", "HTTP", 0, -1, 70000, 15020, 15020, 15021, 15090))
        return self.one((8080, 8081, 9090, 443, 1))

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

    def add_proxy(self, metadata: Json, spec: Json) -> None:
        """Adds a sidecar of the user: for custom injection, from an earlier rewrite, or already injected."""
        proxy: Json = {"name": "istio-proxy", "image": self.one(("auto", "auto", "auto", "example.test/proxyv2:1"))}
        prober = {"/app-health/app/readyz": {"httpGet": {"path": "/r", "port": 8080}}}
        if self.chance(0.5):
            proxy["resources"] = {"limits": {"cpu": "1", "memory": "256Mi"}}
        if self.chance(0.4):
            proxy["env"] = [{"name": "MODE", "value": "own"}]
        if self.chance(0.15):
            value = self.one((json.dumps(prober), json.dumps(prober), "{}", "{not json"))
            proxy.setdefault("env", []).append({"name": "ISTIO_KUBE_APP_PROBERS", "value": value})
        if self.chance(0.15):
            proxy["readinessProbe"] = {"httpGet": {"path": "/healthz/ready", "port": 15021}}
        if self.chance(0.1):
            status = {"initContainers": ["istio-init"], "containers": ["istio-proxy"], "volumes": []}
            metadata.setdefault("annotations", {})["sidecar.istio.io/status"] = json.dumps(status)
        target = "initContainers" if self.chance(0.1) else "containers"
        position = self.one((0, len(spec.get(target, []))))
        spec.setdefault(target, []).insert(position, proxy)


def generate(seed: int, count: int) -> Iterator[Json]:
    """Returns `count` workloads with unique names."""
    generator = Generator(seed)
    for index in range(count):
        yield generator.workload(index)


PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9/._-]*")
KEYWORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"}


def to_yaml(value: Any, indent: int = 0) -> str:
    """Returns a value as block YAML. Strings that are not plain words are quoted as in JSON."""
    pad = "  " * indent
    if isinstance(value, dict) and value:
        return "".join(pad + _entry(f"{_scalar(key)}:", item, indent) for key, item in value.items())
    if isinstance(value, list) and value:
        return "".join(pad + _item(item, indent) for item in value)
    return f"{pad}{_scalar(value)}\n"


def _entry(key: str, value: Any, indent: int) -> str:
    if isinstance(value, dict | list) and value:
        return f"{key}\n{to_yaml(value, indent + 1)}"
    if isinstance(value, str) and _is_block(value):
        lines = "".join("  " * (indent + 1) + line + "\n" for line in value.splitlines())
        return f"{key} |\n{lines}"
    return f"{key} {_scalar(value)}\n"


def _item(value: Any, indent: int) -> str:
    if isinstance(value, dict | list) and value:
        return "- " + to_yaml(value, indent + 1).lstrip(" ")
    return f"- {_scalar(value)}\n"


def _is_block(text: str) -> bool:
    return text.endswith("\n") and text.isascii() and text.isprintable() is False and not text.startswith((" ", "\n"))


def _scalar(value: Any) -> str:
    if isinstance(value, str) and PLAIN.fullmatch(value) and value.lower() not in KEYWORDS:
        return value
    return json.dumps(value)

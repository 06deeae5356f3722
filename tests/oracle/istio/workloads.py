"""Generates workloads with the labels, annotations and sidecars of Istio.

Most features are common in real manifests. Features that `rewrite` refuses have a low probability, so that most pods
are compared; each of them still occurs many times in 2,000 pods.
"""

import json
from collections.abc import Iterator
from typing import Any

from generate import Generator

Json = dict[str, Any]

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
    "tracing: {zipkin: {address: 1}}\n", "drain_duration: 5\n", "image: distroless\n", "runtimeValues: {a: true}\n",
    "gateway_topology: {num_trusted_proxies: '2'}\n", "interceptionMode: tproxy\n", "proxyHeaders: {server: []}\n",
)  # fmt: skip
TRAFFIC_ANNOTATIONS = (
    ("traffic.sidecar.istio.io/excludeInboundPorts", ("8080", "8080,9090", "", "http", "70000")),
    ("traffic.sidecar.istio.io/includeInboundPorts", ("*", "8080", "", "a,b")),
    ("traffic.sidecar.istio.io/includeOutboundIPRanges", ("*", "10.0.0.0/8", "10.0.0.0/99")),
    ("sidecar.istio.io/proxyCPU", ("100m", "100m", "", "1 core", " 1", "m")),
    ("sidecar.istio.io/proxyMemoryLimit", ("128Mi", "128Mi", "128 Mi", "1e3", "x")),
    ("traffic.sidecar.istio.io/excludeInterfaces", ("eth1", "eth1,net1", "a b", "eth/1", "")),
    ("sidecar.istio.io/interceptionMode", ("REDIRECT", "TPROXY", "NONE", "OTHER")),
    ("sidecar.istio.io/nativeSidecar", ("true", "false")),
    ("sidecar.istio.io/logLevel", ("debug",)),
    ("sidecar.istio.io/userVolume", ('[{"name":"v","emptyDir":{}}]',)),
    ("prometheus.io/scrape", ("true", "true", "false", "no", "")),
    ("prometheus.io/port", ("9090", "9090", "15020", "015020", "+9090", "15090", "metrics", "0", "70000", "")),
    ("prometheus.istio.io/merge-metrics", ("false", "true", "no")),
    ("prometheus.istio.io/scrape-targets", ("9090/metrics", "15020/stats", ":9090,15090/x", "metrics", "70000")),
    ("readiness.status.sidecar.istio.io/initialDelaySeconds", ("5",)),
    ("inject.istio.io/templates", ("sidecar", "sidecar", "grpc-agent", "gateway", "nosuch")),
)
STATUS_PORTS = ("15022", "15021", "15020", "0", "", "abc", "70000", " 15022 ", "+15022")
BOOLEANS = ("true", "false", "false", "0", "F", "no", "off", "", "False", "1")


class IstioGenerator(Generator):
    """Builds workloads for Istio."""

    ODD_PORTS = (*Generator.ODD_PORTS, 15020, 15020, 15021, 15090)

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
    generator = IstioGenerator(seed)
    for index in range(count):
        yield generator.workload(index)

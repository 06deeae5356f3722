"""Generates workloads with the labels and annotations of Consul."""

from generate import Json
from mesh import Mesh, Mode
from namespaced import NamespacedGenerator

BOOLEANS = ("true", "true", "false", "1", "0", "T", "F", "TRUE", "False", "yes", "off", "", " true")
ANNOTATIONS = (
    ("consul.hashicorp.com/transparent-proxy", 0.15, BOOLEANS),
    ("consul.hashicorp.com/transparent-proxy-overwrite-probes", 0.15, BOOLEANS),
    ("consul.hashicorp.com/transparent-proxy-exclude-inbound-ports", 0.15, ("8080", "8080,9090", "", "http")),
    ("consul.hashicorp.com/connect-service", 0.1, ("web", "web,web-admin", "")),
    ("consul.hashicorp.com/connect-service-port", 0.1, ("8080", "http", "8080,9090", "nosuch", "")),
    ("consul.hashicorp.com/connect-inject-status", 0.03, ("injected", "")),
    ("consul.hashicorp.com/enable-metrics", 0.05, ("true", "false")),
)


class ConsulGenerator(NamespacedGenerator):
    """Builds workloads for Consul."""

    ODD_PORTS = (*NamespacedGenerator.ODD_PORTS, 15001, 20000, 20200, 20300, 20400, 20500)

    def annotations(self) -> Json:
        annotations: Json = {}
        if self.chance(0.9):
            odd = self.chance(0.1)
            annotations["consul.hashicorp.com/connect-inject"] = self.one(BOOLEANS) if odd else "true"
        found = {name: self.one(values) for name, probability, values in ANNOTATIONS if self.chance(probability)}
        return {**annotations, **found}

    def add_proxy(self, metadata: Json, spec: Json) -> None:
        if self.chance(0.2):
            spec["containers"].insert(self.one((0, 1)), {"name": "consul-dataplane", "image": "consul-dataplane:1"})
            if self.chance(0.7):
                metadata.setdefault("annotations", {})["consul.hashicorp.com/connect-inject-status"] = "injected"

    def namespace_metadata(self) -> Json:
        if self.chance(0.85):
            return {}
        return {"labels": {"consul.hashicorp.com/transparent-proxy": self.one(BOOLEANS)}}


CONSUL = Mesh(
    title="Consul",
    name="consul",
    own=("consul-dataplane", "consul-connect-inject-init"),
    generator=ConsulGenerator,
    modes=(Mode("iptables"), Mode("the CNI plugin", environment={"ORACLE_CNI": "true"})),
    has_preview=True,
)

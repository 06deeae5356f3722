"""Generates workloads with the labels, annotations and sidecars of Kuma."""

from generate import Json
from mesh import Mesh, Mode
from namespaced import NamespacedGenerator

SWITCHES = ("enabled", "true", "yes", "disabled", "false", "no")
PORTS = ("0", "0", "9001", "9002", "19001", "", "http", "-1", "65535", "70000", " 9001", "+9001", "09001")
ANNOTATIONS = (
    ("kuma.io/application-probe-proxy-port", 0.3, PORTS),
    ("kuma.io/virtual-probes", 0.15, (*SWITCHES, "on", "")),
    ("kuma.io/virtual-probes-port", 0.1, ("9000", "19000", "0", "http")),
    ("kuma.io/gateway", 0.1, (*SWITCHES, "provided", "builtin", "")),
    ("kuma.io/sidecar-env-vars", 0.1, ("A=1", "KUMA_APPLICATION_PROBE_PROXY_PORT=9001", "A=1;B=2", "A", "")),
    ("traffic.kuma.io/exclude-inbound-ports", 0.15, ("8080", "8080,9090", "", "http")),
    ("kuma.io/mesh", 0.05, ("default",)),
    ("kuma.io/sidecar-injection", 0.05, ("disabled", "enabled")),
)


class KumaGenerator(NamespacedGenerator):
    """Builds workloads for Kuma."""

    ODD_PORTS = (*NamespacedGenerator.ODD_PORTS, 9000, 9001, 9001, 9901, 15006, 19001)

    def labels(self) -> Json:
        labels: Json = {}
        if self.chance(0.1):
            labels["kuma.io/sidecar-injection"] = self.one((*SWITCHES, "on", "True", ""))
        return labels

    def annotations(self) -> Json:
        return {name: self.one(values) for name, probability, values in ANNOTATIONS if self.chance(probability)}

    def add_proxy(self, _metadata: Json, spec: Json) -> None:
        if self.chance(0.3):
            proxy: Json = {"name": "kuma-sidecar", "image": "kuma-dp:1"}
            if self.chance(0.5):
                proxy["env"] = [{"name": "KUMA_APPLICATION_PROBE_PROXY_PORT", "value": "9001"}]
            if self.chance(0.3):
                proxy["restartPolicy"] = "Always"
                spec.setdefault("initContainers", []).insert(0, proxy)
            else:
                spec["containers"].insert(0, proxy)

    def namespace_metadata(self) -> Json:
        if self.chance(0.1):
            return {}
        odd = self.chance(0.15)
        return {"labels": {"kuma.io/sidecar-injection": self.one((*SWITCHES, "on", "")) if odd else "enabled"}}


KUMA = Mesh(
    title="Kuma",
    name="kuma",
    own=("kuma-sidecar", "kuma-init", "kuma-validation"),
    generator=KumaGenerator,
    modes=tuple(
        Mode(
            f"{name} sidecars",
            (f"--assume=native-sidecars={value}",),
            {"ORACLE_NATIVE_SIDECARS": value},
        )
        for name, value in (("classic", "false"), ("native", "true"))
    ),
    has_preview=True,
)

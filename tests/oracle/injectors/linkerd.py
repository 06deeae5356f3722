"""Generates workloads with the annotations of Linkerd."""

from generate import Json
from mesh import Mesh, Mode
from namespaced import NamespacedGenerator

INJECT = "linkerd.io/inject"
ODD_VALUES = ("disabled", "disabled", "ingress", "true", "yes", "Enabled", "", " enabled")
ANNOTATIONS = (
    ("config.linkerd.io/default-inbound-policy", 0.15, ("deny", "all-authenticated", "all-unauthenticated", "no", "")),
    ("config.linkerd.io/skip-inbound-ports", 0.15, ("8080", "8080,9090", "8000-9000", "", "http")),
    ("config.linkerd.io/opaque-ports", 0.15, ("8080", "http", "8000-9000", "")),
    ("config.linkerd.io/proxy-require-identity-inbound-ports", 0.1, ("8080", "")),
    ("config.alpha.linkerd.io/proxy-enable-native-sidecar", 0.05, ("true", "false")),
    ("config.linkerd.io/proxy-cpu-request", 0.05, ("100m", "lots")),
    ("config.linkerd.io/enable-debug-sidecar", 0.05, ("true",)),
)
# Containers by which the injector recognizes pods that have a sidecar.
PROXIES = (
    ("linkerd-proxy", "proxy:1"),
    ("linkerd-proxy", "proxy:1"),
    ("linkerd-init", "proxy-init:1"),
    ("istio-proxy", "proxyv2:1"),
    ("istio-init", "proxyv2:1"),
    ("sidecar", "cr.l5d.io/linkerd/proxy:edge-26.8.3"),
)


class LinkerdGenerator(NamespacedGenerator):
    """Builds workloads for Linkerd."""

    ODD_PORTS = (*NamespacedGenerator.ODD_PORTS, 4140, 4143, 4190, 4191)

    def template(self) -> Json:
        template = super().template()
        if self.chance(0.06):
            template["spec"]["automountServiceAccountToken"] = self.one((True, False))
        return template

    def annotations(self) -> Json:
        annotations: Json = {}
        if self.chance(0.4):
            odd = self.chance(0.35)
            annotations[INJECT] = self.one(ODD_VALUES) if odd else "enabled"
        found = {name: self.one(values) for name, probability, values in ANNOTATIONS if self.chance(probability)}
        return {**annotations, **found}

    def add_proxy(self, _metadata: Json, spec: Json) -> None:
        if self.chance(0.4):
            name, image = self.one(PROXIES)
            target = "initContainers" if name.endswith("-init") or self.chance(0.3) else "containers"
            proxy: Json = {"name": name, "image": image}
            if target == "initContainers":
                proxy["restartPolicy"] = "Always"
            spec.setdefault(target, []).insert(0, proxy)

    def namespace_metadata(self) -> Json:
        if self.chance(0.25):
            return {}
        odd = self.chance(0.2)
        return {"annotations": {INJECT: self.one(ODD_VALUES) if odd else "enabled"}}


LINKERD = Mesh(
    title="Linkerd",
    name="linkerd",
    own=("linkerd-proxy", "linkerd-init", "linkerd-network-validator", "linkerd-debug"),
    generator=LinkerdGenerator,
    modes=(Mode("classic sidecars"), Mode("native sidecars", environment={"ORACLE_NATIVE_SIDECARS": "true"})),
    has_preview=False,
)

"""The tested pods: the workloads of fixtures/live, each with its application in several states."""

import copy
import json
from dataclasses import dataclass, field

import manifests
import network
from json_types import Json

EXCLUDE = "traffic.sidecar.istio.io/excludeInboundPorts"
NETWORK_HANDLERS = ("httpGet", "tcpSocket", "grpc")
# The pod's own address in the manifests.
POD_IN_MANIFEST = "10.77.0.2"
ANYWHERE, LOOPBACK, ANY_IPV6 = None, "127.0.0.1", "::"
# Ports of the manifests on which the application does not listen on the pod's address.
BOUND_ELSEWHERE = {8180: LOOPBACK, 8181: LOOPBACK, 8182: LOOPBACK,
                   8380: ANY_IPV6, 8381: ANY_IPV6, 8382: ANY_IPV6}
TLS_PORTS = {8443, 8444, 8445, 8453, 8454, 8455, 8543, 8643}
# Measured state -> the states in which the same probe is tried here, that of the measurement first. An application
# that was measured unhealthy is up, and rejects this path, header or service; an alive one accepts all.
STATES = {"up": ("alive", "dead", "failing"), "down": ("dead", "alive", "failing"),
          "unhealthy": ("unhealthy", "alive", "dead")}


@dataclass(frozen=True)
class Case:
    """One workload: its only probe, as in the manifest."""

    name: str
    probe: Json = field(hash=False)
    ports: dict[str, int] = field(hash=False)
    measured: str

    @property
    def handler(self) -> str:
        """Returns http, https, tcpSocket or grpc."""
        check = self.probe.get("httpGet")
        if check:
            return "https" if check.get("scheme") == "HTTPS" else "http"
        return next(kind for kind in NETWORK_HANDLERS if kind in self.probe)

    @property
    def _check(self) -> Json:
        return next(self.probe[kind] for kind in NETWORK_HANDLERS if kind in self.probe)

    @property
    def host(self) -> str | None:
        """Returns the host that the probe names, or None."""
        host: str | None = self._check.get("host")
        return host

    @property
    def names_pod(self) -> bool:
        """Returns whether the probe names the future address of the pod as its host."""
        return self.host == POD_IN_MANIFEST

    @property
    def is_refused(self) -> bool:
        """Returns whether `rewrite` must refuse it: the agent only checks its own pod, and resolves no other names."""
        port = self._check["port"]
        return self.host is not None or (isinstance(port, str) and port not in self.ports)

    @property
    def port(self) -> int | None:
        """Returns the number of the probed port, or None if the container does not declare its name."""
        port: int | str = self._check["port"]
        if isinstance(port, int):
            return port
        return self.ports.get(port, int(port) if port.isdigit() else None)


@dataclass(frozen=True)
class Pod:
    """A case with its application in one state, at its own address."""

    case: Case
    state: str
    address: str

    @property
    def key(self) -> str:
        return f"{self.case.name}/{self.state}"

    @property
    def as_measured(self) -> bool:
        return self.state == STATES[self.case.measured][0]

    @property
    def original(self) -> Json:
        """Returns the probe of the manifest, with this pod's address instead of POD_IN_MANIFEST."""
        probe: Json = json.loads(json.dumps(self.case.probe).replace(f'"{POD_IN_MANIFEST}"', f'"{self.address}"'))
        return probe

    def listeners(self) -> list[Json]:
        """Returns the ports on which the application listens."""
        port = self.case.port
        if self.state == "dead" or port is None:
            return []
        address = BOUND_ELSEWHERE.get(port, ANYWHERE) or self.address
        return [{"address": address, "port": port, "kind": _kind(port), "state": self._application()}]

    def _application(self) -> str:
        if self.state == "alive" and self.case.measured == "unhealthy":
            return "accepting"
        return "failing" if self.state == "failing" else "alive"


def _kind(port: int) -> str:
    if port in TLS_PORTS:
        return "https"
    return {7: "tcp", 9: "grpc"}.get(port // 1000, "http")


def read(text: str, rows: list[dict[str, str]]) -> tuple[list[Case], list[str]]:
    """Returns (cases, left out): the cases that the rig can try, and the names of the others."""
    measured = {row["case"]: row["app"] for row in rows}
    cases, left_out = [], []
    for name, template in manifests.templates(text).items():
        container = template["spec"]["containers"][0]
        ports = {port["name"]: port["containerPort"] for port in container.get("ports", [])}
        if not container["readinessProbe"].keys() & set(NETWORK_HANDLERS):
            left_out.append(name)
        else:
            cases.append(Case(name, copy.deepcopy(container["readinessProbe"]), ports, measured[name]))
    return cases, left_out


def excluded_ports(text: str) -> list[str]:
    """Returns the ports that the workloads exclude from the redirect. All workloads exclude the same ports."""
    annotations = [template["metadata"]["annotations"] for template in manifests.templates(text).values()]
    excluded: set[str] = {mapping.get(EXCLUDE, "") for mapping in annotations}
    if len(excluded) != 1:
        raise ValueError("the workloads exclude different ports, and share one sidecar here")
    return excluded.pop().split(",")


def pods(cases: list[Case]) -> list[Pod]:
    """Returns one pod per case and state."""
    found: list[Pod] = []
    for case in cases:
        for state in STATES[case.measured]:
            if not (state == "failing" and case.handler == "tcpSocket"):
                found.append(Pod(case, state, network.pod_address(len(found))))
    return found

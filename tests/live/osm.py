"""The live proof for OSM: Envoy with the listeners and clusters that `--emit-envoy` prints, which receives
the probes that `--preview` shows.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import compare
import envoy_config
import manifests
import network
from compare import Cell
from evidence import Table, table
from json_types import Json
from kubelet import Prober
from matrix import word
from policy import Policy
from product import SPOILED, Meshprobe
from proof import TREE
from rig import Rig, Sidecar

MANIFEST = "osm.yaml"
LISTENERS = {8080: "http", 8443: "https", 7000: "tcp", 9000: "grpc"}
STATES = ("alive", "dead", "failing")
AT_ONCE = 4
# One listener of Envoy per slot, and the container osm-healthcheck. None is captured.
OSM_PORTS = ["15901", "15902", "15903", "15904"]
HEALTHCHECK_PORT = 15904
HEADER = ("slot", "handler", "port", "application", "without_mesh", "original", "rewritten")
# The originals that must fail or pass wrongly; otherwise the rig would not prove anything.
SUFFERS = {("http", "alive"), ("https", "alive"), ("grpc", "alive"), ("tcpSocket", "dead")}
# Minimum number of probes in all states, by the port to which OSM sends them.
FLOORS = {15901: 6, 15902: 8, 15903: 8, 15904: 6, 9000: 3}


@dataclass
class Pod:
    """A workload with its application in one state."""

    workload: str
    state: str
    originals: dict[str, Json]
    previewed: dict[str, Json]
    # Static listeners and clusters.
    emitted: Json
    address: str
    # OSM sends the request to the loopback address, so the application listens on all addresses.
    in_osm: bool = True

    @property
    def name(self) -> str:
        return f"osm-{self.workload}-{self.state}"

    def listeners(self) -> list[Json]:
        if self.state == "dead":
            return []
        return [{"address": "0.0.0.0" if self.in_osm else self.address, "port": port, "kind": kind, "state": self.state}
                for port, kind in LISTENERS.items()]

    def asked(self, rewrite: str) -> list[Json]:
        """Returns the probes, unchanged ("off") or as OSM would rewrite them ("on")."""
        probes = self.originals if rewrite == "off" else self.previewed
        return [{"key": f"{self.name}/{slot}/{rewrite}", "address": self.address, "ports": {}, "probe": probe}
                for slot, probe in probes.items()]


@dataclass(frozen=True)
class Probe:
    """One probe of one workload, and its target in OSM."""

    workload: str
    slot: str
    handler: str
    port: int

    def __str__(self) -> str:
        return f"{self.workload}, {self.slot} {self.handler}"


# The results without a mesh, of the original in OSM, and of the probe as OSM rewrites it.
Seen = tuple[Cell, Cell, Cell]


class OsmProof:
    """Measures the workloads in each state, without a mesh and with OSM's sidecar."""

    def __init__(self, meshprobe: Meshprobe, folder: Path, certificate: Path, prober: Prober):
        self._meshprobe, self._folder, self._certificate, self._prober = meshprobe, folder, certificate, prober
        # One state is enough to find a planted error.
        self._states = STATES[:1] if meshprobe.plant else STATES
        self._pods: list[Pod] = []
        self._round = 0
        self._seen: dict[Probe, dict[str, Seen]] = {}

    def measure(self) -> None:
        """Runs all probes."""
        originals = _probes((TREE / MANIFEST).read_text())
        previewed = _probes(self._meshprobe.preview(MANIFEST))
        emitted = dict(zip(originals, self._meshprobe.emitted(MANIFEST), strict=True))
        self._pods = [Pod(name, state, originals[name], previewed[name], emitted[name], network.pod_address(index))
                      for index, (name, state) in enumerate(product(originals, self._states))]
        self._measure_pods(self._pods, AT_ONCE)

    def measure_again(self) -> int:
        """Repeats the probes of the pods where one timed out, and returns the number of these pods."""
        late = [pod for pod in self._pods if any(
            cell.is_late for probe, states in self._seen.items() if probe.workload == pod.workload
            for cell in states.get(pod.state, ()))]
        if late:
            self._measure_pods(late, 1)
        return len(late)

    def judge(self) -> list[str]:
        """Returns all differences."""
        short = self._short() if self._states == STATES else []
        return [f"OSM: {line}" for line in [*self._compare(), *short]]

    def tables(self) -> list[Table]:
        """Returns the tables for docs/evidence."""
        found = {(probe.slot, probe.handler, str(probe.port), state): cells
                 for probe, states in self._seen.items() for state, cells in states.items()}
        rows = ((*key, *map(word, cells)) for key, cells in sorted(found.items()))
        return [table("live-proof-osm", HEADER, rows)]

    def _measure_pods(self, pods: list[Pod], at_once: int) -> None:
        self._round += 1
        without = self._without(pods)
        with ThreadPoolExecutor(at_once) as pool:
            for pod, within in zip(pods, pool.map(self._within, pods), strict=True):
                self._add(pod, without, within)

    def _without(self, pods: list[Pod]) -> dict[str, Json]:
        """Runs the originals of all pods without a mesh."""
        here = [replace(pod, in_osm=False) for pod in pods]
        asked = [probe for pod in here for probe in pod.asked("off")]
        return Rig(self._folder, here, self._certificate, self._prober).measure(f"osm-none-{self._round}", None, asked)

    def _within(self, pod: Pod) -> dict[str, Json]:
        """Runs the probes of one pod in OSM."""
        certificate = self._certificate
        strict = envoy_config.bootstrap(Policy(mode="STRICT"), {}, str(certificate))["static_resources"]
        resources = {kind: strict[kind] + pod.emitted[kind] for kind in ("listeners", "clusters")}
        sidecar = Sidecar({"static_resources": resources}, OSM_PORTS, "healthcheck.py", {"port": HEALTHCHECK_PORT})
        asked = pod.asked("off") + pod.asked("on")
        return Rig(self._folder, [pod], certificate, self._prober).measure(f"{pod.name}-{self._round}", sidecar, asked)

    def _add(self, pod: Pod, without: dict[str, Json], within: dict[str, Json]) -> None:
        for slot, original in pod.originals.items():
            probe = Probe(pod.workload, slot, _handler(original), _port(pod.previewed[slot]))
            if (probe.handler, pod.state) != ("tcpSocket", "failing"):
                off, on = f"{pod.name}/{slot}/off", f"{pod.name}/{slot}/on"
                self._seen.setdefault(probe, {})[pod.state] = (
                    _cell(without[off]), _cell(within[off]), _cell(within[on]))

    def _compare(self) -> list[str]:
        """Checks that the result in OSM differs from no mesh exactly where `predict` and `check` report it."""
        predict, check = self._meshprobe.predict_osm(MANIFEST), self._meshprobe.check_osm(MANIFEST)
        wrong = []
        for probe, states in self._seen.items():
            predicted, found = predict[probe.workload, probe.slot], check.get((probe.workload, probe.slot), [])
            after = {state: (without, rewritten) for state, (without, _, rewritten) in states.items()}
            # Their texts are not compared, because the messages of OSM's own listener were not measured.
            wrong += compare.outcome(str(probe), after, predicted, "rewritten")
            outcomes = [result.outcome for result in found]
            if outcomes != [predicted.outcome] * (predicted.outcome in SPOILED):
                wrong.append(f"{probe}: check reports {outcomes}, predict reports {predicted.outcome}")
            for state, (without, original, _) in states.items():
                if (original.passed != without.passed) != ((probe.handler, state) in SUFFERS):
                    wrong.append(f"{probe}/{state}: original {original}, without a mesh {without}")
        return wrong

    def _short(self) -> list[str]:
        """Returns the ports for which fewer probes were run than required."""
        tried = {port: sum(len(states) for probe, states in self._seen.items() if probe.port == port)
                 for port in FLOORS}
        return [f"only {tried[port]} cells at port {port}, not {floor}"
                for port, floor in FLOORS.items() if tried[port] < floor]


def _probes(text: str) -> dict[str, dict[str, Json]]:
    """Returns workload -> slot -> probe."""
    return {name: {slot: probe for slot, probe in template["spec"]["containers"][0].items() if slot.endswith("Probe")}
            for name, template in manifests.templates(text).items()}


def _cell(seen: Json) -> Cell:
    return Cell(seen["passed"], seen["text"])


def _handler(probe: Json) -> str:
    kind = next(kind for kind in ("httpGet", "tcpSocket", "grpc") if kind in probe)
    return str(probe[kind].get("scheme", "HTTP")).lower() if kind == "httpGet" else kind


def _port(probe: Json) -> int:
    return int(next(probe[kind]["port"] for kind in ("httpGet", "grpc") if kind in probe))

"""The same for OSM: Envoy with the listeners and clusters that `--emit-envoy` prints, asked by the probes
that `--preview` shows.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import envoy_config
import manifests
import network
from policy import Policy
from rig import Rig, Sidecar

MANIFEST = "osm.yaml"
LISTENERS = {8080: "http", 8443: "https", 7000: "tcp"}
STATES = ("alive", "dead", "failing")
AT_ONCE = 3
# One listener of Envoy per slot, and the container osm-healthcheck. None is captured.
OSM_PORTS = ["15901", "15902", "15903", "15904"]
HEALTHCHECK_PORT = 15904
HEAD = "| slot | handler | rewritten to port | application | no mesh | OSM, original | OSM, rewritten |"
# What an original has to suffer, or the rig would show nothing.
SPOILED = {("http", "alive"), ("https", "alive"), ("tcpSocket", "dead")}


@dataclass
class Pod:
    """A workload with its application in one state. OSM asks it on the loopback."""

    workload: str
    state: str
    originals: dict
    previewed: dict
    # Static listeners and clusters.
    emitted: dict
    address: str = network.pod_address(0)

    @property
    def name(self):
        return f"osm-{self.workload}-{self.state}"

    def listeners(self):
        if self.state == "dead":
            return []
        return [{"address": "0.0.0.0", "port": port, "kind": kind, "state": self.state}
                for port, kind in LISTENERS.items()]

    def asked(self, rewrite):
        """The probes, as they are ("off") or as OSM would have them ("on")."""
        probes = self.originals if rewrite == "off" else self.previewed
        return [{"key": f"{slot}/{rewrite}", "address": self.address, "ports": {}, "probe": probe}
                for slot, probe in probes.items()]


class OsmProof:
    """Measures the workloads in each state, without a mesh and with OSM's sidecar."""

    def __init__(self, product, folder):
        self.product, self.folder = product, folder
        # (slot, handler, port after the rewrite, state) -> (without a mesh, original, rewritten).
        self.cells = {}

    def run(self):
        """All disagreements."""
        originals = _probes(self.product.preview(MANIFEST, rewrite=False))
        previewed = _probes(self.product.preview(MANIFEST))
        emitted = dict(zip(originals, self.product.emitted(MANIFEST), strict=True))
        pods = [Pod(name, state, originals[name], previewed[name], emitted[name])
                for name in originals for state in STATES]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for measured in pool.map(self._measure, pods):
                self.cells |= measured
        return [line for key, cells in self.cells.items() for line in _disagreements(key, *cells)]

    def table(self):
        """What goes into the document."""
        lines = [HEAD, "|---" * 7 + "|"]
        for key, cells in sorted(self.cells.items()):
            words = ["pass" if passed else "fail" for passed, _ in cells]
            shown = [word if word == words[0] else f"**{word}**" for word in words]
            lines.append("| " + " | ".join([*map(str, key), *shown]) + " |")
        return "\n".join(lines)

    def _measure(self, pod):
        """The cells of one pod."""
        folder = self.folder / pod.name
        folder.mkdir()
        folder.chmod(0o755)
        rig = Rig(folder, [pod])
        strict = envoy_config.bootstrap(Policy(mode="STRICT"), {}, str(rig.certificate))["static_resources"]
        resources = {kind: strict[kind] + pod.emitted[kind] for kind in ("listeners", "clusters")}
        sidecar = Sidecar({"static_resources": resources}, OSM_PORTS, "healthcheck.py", {"port": HEALTHCHECK_PORT})
        without = rig.measure(f"{pod.name}-none", None, pod.asked("off"))
        within = rig.measure(f"{pod.name}-mesh", sidecar, pod.asked("off") + pod.asked("on"))
        found = {}
        for slot, probe in pod.originals.items():
            handler = _handler(probe)
            if (handler, pod.state) != ("tcpSocket", "failing"):
                port = pod.previewed[slot]["httpGet"]["port"]
                seen = without[f"{slot}/off"], within[f"{slot}/off"], within[f"{slot}/on"]
                found[slot, handler, port, pod.state] = tuple((one["passed"], one["text"]) for one in seen)
        return found


def _probes(text):
    """Workload -> slot -> probe."""
    return {name: {slot: probe for slot, probe in template["spec"]["containers"][0].items() if slot.endswith("Probe")}
            for name, template in manifests.templates(text).items()}


def _handler(probe):
    if "tcpSocket" in probe:
        return "tcpSocket"
    return probe["httpGet"].get("scheme", "HTTP").lower()


def _disagreements(key, without, original, rewritten):
    slot, handler, _, state = key
    where = f"OSM, {slot} {handler}/{state}"
    if rewritten[0] != without[0]:
        yield f"{where}: rewritten {rewritten}, without a mesh {without}"
    if (original[0] != without[0]) != ((handler, state) in SPOILED):
        yield f"{where}: original {original}, without a mesh {without}"

"""The proof as a whole: which pods are tried in which modes, and what has to agree."""

import csv
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cases
import compare
import envoy_config
import policy
from matrix import Matrix
from modes import BUILT, MODE_OF_BUILT, MODES, NO_MESH
from product import Meshprobe
from rig import Rig, Sidecar

TREE = Path(__file__).parents[2] / "fixtures" / "live"
AGENT_PORT = 15020
# Modes at a time. Most of a mode is waiting for timeouts of probes, so a small machine can do it.
AT_ONCE = 4
WRONG_PORT = 1


class Proof:
    """Measures the modes, then compares."""

    def __init__(self, arguments, folder):
        self.plant, self.modes = arguments.plant, arguments.modes
        workloads, base = (TREE / "workloads.off.yaml").read_text(), (TREE / "base.yaml").read_text()
        with (TREE / "verdicts.csv").open(encoding="utf-8", newline="") as file:
            self.rows = list(csv.DictReader(file))
        tried, self.left_out = cases.read(workloads, self.rows)
        self.pods = cases.pods([case for case in tried if case.name in (arguments.cases or [case.name])])
        options = ["--ignore", "strict-probe-not-rewritten"] if self.plant == "rule-off" else []
        self.product = Meshprobe(str(Path(arguments.meshprobe).resolve()), TREE, options)
        self.prefixes = policy.prefixes(base)
        self.protocols, self.excluded = policy.protocols(base), cases.excluded_ports(workloads)
        self.rig = Rig(folder, self.pods)
        self.folder = folder
        # (pod, mode, "off" or "on") -> (passed, text).
        self.cells = {}
        self.refused = set()
        self.compared = 0

    def run(self):
        """All disagreements."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            built = [BUILT] if MODE_OF_BUILT in self.modes and not self.plant else []
            for measured in pool.map(self._measure, [NO_MESH, *self.modes, *built]):
                self.cells |= measured
        self.compared, wrong = compare.stand_ins(self.rows, self._as_measured())
        wrong = [f"stand-in: {line}" for line in wrong]
        for mode in self.modes:
            wrong += self._judge(mode)
        return wrong + self._judge_rewritten([*self.modes, BUILT])

    def matrix(self):
        """What goes into the document."""
        modes = {mode: MODES[mode] for mode in self.modes}
        table = Matrix(self.pods, self.cells, modes, self.prefixes, self.excluded).markdown()
        return f"{table}\n\n{self._counts()}"

    def summary(self, wrong, seconds):
        """What is printed."""
        return "\n".join([
            self.matrix(),
            f"not tried: {', '.join(self.left_out)}",
            f"refused by rewrite, so not tried rewritten: {', '.join(sorted(self.refused))}",
            f"{len(wrong)} disagreements, {seconds:.1f} s",
        ])

    def _counts(self):
        rewritten = sum(1 for key in self.cells if key[2] == "on")
        built = sum(1 for key in self.cells if key[1] == BUILT)
        return "\n".join([
            f"{len(self.cells)} cells: {len(self.pods)} pods of {len({pod.case for pod in self.pods})} workloads, "
            f"without a mesh and in {len(self.modes)} modes;",
            f"{rewritten} cells are of rewritten probes, {built} of these out of `kustomize build`.",
            f"{self.compared} cells were compared with rows of `verdicts.csv`.",
        ])

    def _measure(self, mode):
        """The cells of one mode."""
        written = self._written(mode)
        agents, probes = [], []
        for pod in self.pods:
            if mode != BUILT:
                probes.append(_probe(pod, "off", pod.case.probe))
            if after := written.get(pod.case.name):
                probes.append(_probe(pod, "on", after.probe))
                agents.append({"address": pod.address, "port": AGENT_PORT, "probers": self._env(pod, after)})
            elif mode != NO_MESH:
                self.refused.add(pod.case.name)
        seen = self.rig.measure(mode, self._sidecar(mode, agents), probes)
        return {(pod.key, mode, rewrite): _cell(pod, seen[f"{pod.key}/{rewrite}"])
                for pod in self.pods for rewrite in ("off", "on") if f"{pod.key}/{rewrite}" in seen}

    def _written(self, mode):
        """Workload -> Rewritten."""
        if mode == NO_MESH:
            return {}
        if mode != BUILT:
            return self.product.rewrite(mode)
        folder = self.folder / "kustomization"
        folder.mkdir()
        return self.product.build(MODE_OF_BUILT, folder)

    def _sidecar(self, mode, agents):
        if mode == NO_MESH:
            return None
        policies = TREE / "policies" / f"{MODE_OF_BUILT if mode == BUILT else mode}.yaml"
        rules = policy.read(policies.read_text())
        bootstrap = envoy_config.bootstrap(rules, self.protocols, str(self.rig.certificate))
        return Sidecar(bootstrap, self.excluded, "agent.py", {"agents": agents}, self.plant != "no-redirect")

    def _env(self, pod, after):
        """What the agent of this pod gets: the env of our output, with the planted error if there is one."""
        probers = pod.here(after.probers)
        if self.plant != "wrong-port":
            return probers
        table = json.loads(probers)
        for prober in table.values():
            for check in prober.values():
                if isinstance(check, dict):
                    check["port"] = WRONG_PORT
        return json.dumps(table)

    def _as_measured(self):
        found = {}
        for pod in filter(lambda pod: pod.as_measured, self.pods):
            for (key, mode, rewrite), cell in self.cells.items():
                if key == pod.key:
                    found[pod.case.name, mode, rewrite] = cell
        return found

    def _judge(self, mode):
        """What `predict` and `check` say of the originals, against what was seen."""
        predict, check = self.product.predict(mode), self.product.check(mode)
        states = {}
        for pod in self.pods:
            states.setdefault(pod.case.name, {})[pod.state] = (
                self.cells[pod.key, NO_MESH, "off"], self.cells[pod.key, mode, "off"])
        # Where the probe fails without a mesh although the application is up, the manifest is at fault.
        # Nor can a manifest say that the host of a probe will be the address of the pod.
        unknowable = {pod.case.name for pod in self.pods if pod.case.names_pod}
        judged = {name for name, seen in states.items() if "alive" in seen and seen["alive"][0][0]} - unknowable
        wrong = compare.reported(check, predict, judged, mode)
        races = compare.races(self.rows)
        for name in sorted(judged):
            wrong += compare.predicted(name, states[name], *predict[name], mode, (name, mode) in races)
        return wrong

    def _judge_rewritten(self, modes):
        wrong = []
        for pod in self.pods:
            without = self.cells[pod.key, NO_MESH, "off"]
            for mode in modes:
                after = self.cells.get((pod.key, mode, "on"))
                if after:
                    wrong += compare.rewritten_is_no_mesh(pod, without, after, mode)
        return wrong


def _probe(pod, rewrite, probe):
    return {"key": f"{pod.key}/{rewrite}", "address": pod.address, "ports": pod.case.ports,
            "probe": pod.here(probe)}


def _cell(pod, seen):
    return seen["passed"], compare.plain(seen["text"], pod.address)

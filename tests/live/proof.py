"""The complete proof: runs the probes of all pods in all modes, and compares the results."""

import csv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cases
import compare
import envoy_config
import plants
import policy
import tally
from cases import Pod
from compare import Cell, Key, Row
from evidence import Table, table
from json_types import Json
from kubelet import Prober
from matrix import Matrix
from modes import BUILT, DEGRADED, MODES, NO_AGENT, NO_ENV, NO_ENVOY, NO_MESH, NO_SIDECAR, STRICT
from product import Meshprobe, Rewritten
from rig import Rig, Sidecar

TREE = Path(__file__).parents[2] / "fixtures" / "live"
MEASURED = ("verdicts.csv", "degraded.csv")
AGENT_PORT = 15020
# Number of modes that run at a time. Most of their time is spent in timeouts of probes, so a small machine is enough.
AT_ONCE = 4


class Proof:
    """Measures the modes, then compares."""

    def __init__(self, product: Meshprobe, folder: Path, certificate: Path, prober: Prober, modes: list[str],
                 only: list[str]):
        self._product, self._folder, self._modes, self._plant = product, folder, modes, product.plant
        workloads, base = (TREE / "workloads.off.yaml").read_text(), (TREE / "base.yaml").read_text()
        self._rows = [row for name in MEASURED for row in _rows(TREE / name)]
        tried, self._left_out = cases.read(workloads, self._rows)
        if unknown := set(only) - {case.name for case in tried}:
            raise ValueError(f"unknown workload, or a workload that cannot be tried: {', '.join(sorted(unknown))}")
        self.pods = cases.pods([case for case in tried if not only or case.name in only])
        self._prefixes = policy.prefixes(base)
        self._protocols, self._excluded = policy.protocols(base), cases.excluded_ports(workloads)
        self._rig = Rig(folder, self.pods, certificate, prober)
        self._tried = [NO_MESH, *modes]
        if STRICT in modes:
            self._tried += [BUILT] if self._plant in (None, plants.NO_REWRITE) else []
            self._tried += DEGRADED if self._plant is None else []
        # (pod, mode, "off" or "on") -> result of the probe.
        self.cells: dict[Key, Cell] = {}
        # Mode -> workload -> its rewrite.
        self._written: dict[str, dict[str, Rewritten]] = {}
        self._unjudged: set[str] = set()
        self.tally = tally.Tally()

    def measure(self) -> None:
        """Runs all probes."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for measured in pool.map(self._measure, self._tried):
                self.cells |= measured

    def measure_again(self) -> int:
        """Repeats the probes that timed out, mode by mode, and returns the number of their pods."""
        again = 0
        for mode in self._tried:
            late = [pod for pod in self.pods if any(
                cell.is_late for rewrite in ("off", "on") if (cell := self.cells.get((pod.key, mode, rewrite))))]
            if late:
                again += len(late)
                self.cells |= self._measure_pods(mode, late, f"{mode}-again")
        return again

    def judge(self) -> list[str]:
        """Returns all differences."""
        self.tally, self._unjudged = tally.Tally(), set()
        wrong = self._judge_stand_ins()
        for mode in self._modes:
            wrong += self._judge_originals(mode)
        return wrong + self._judge_rewritten([mode for mode in self._tried if mode in (*self._modes, BUILT)])

    def tables(self) -> list[Table]:
        """Returns the tables for docs/evidence."""
        matrix = Matrix(self.pods, self.cells, self._modes, self._prefixes, self._excluded)
        return [matrix.table(), self._counts(), self._left_out_table()]

    def _counts(self) -> Table:
        """Returns the number of comparisons."""
        sizes = [("all", "pods", len(self.pods)), ("all", "workloads", len({pod.case for pod in self.pods})),
                 ("all", "rows measured with Istio", len(self._rows))]
        return table("live-proof-counts", ("handler", "count", "number"), self.tally.rows() + sizes)

    def _left_out_table(self) -> Table:
        """Returns the workloads that were not compared, with reasons."""
        refused = {pod.case.name for pod in self.pods if pod.case.is_refused}
        reasons = [(self._left_out, "uses exec; not tried"), (refused, "refused by rewrite; not tried rewritten"),
                   (self._unjudged, "fails without a mesh or names its own address; predict and check not compared")]
        rows = ((name, reason) for names, reason in reasons for name in sorted(names))
        return table("live-proof-left-out", ("workload", "reason"), rows)

    def _measure(self, mode: str) -> dict[Key, Cell]:
        """Returns the cells of one mode."""
        self._written[mode] = self._rewrite(mode)
        return self._measure_pods(mode, [pod for pod in self.pods if mode not in DEGRADED or pod.as_measured], mode)

    def _measure_pods(self, mode: str, pods: list[Pod], name: str) -> dict[Key, Cell]:
        written = self._written[mode]
        agents, probes = [], []
        for pod in pods:
            if mode not in (BUILT, NO_SIDECAR, NO_AGENT, NO_ENV):
                probes.append(_probe(pod, "off", pod.original))
            if after := written.get(pod.case.name):
                probes.append(_probe(pod, "on", after.probe))
                probers = None if mode == NO_ENV else plants.planted_env(self._plant, after.probers)
                agents.append({"address": pod.address, "port": AGENT_PORT, "probers": probers})
        seen = self._rig.measure(name, self._sidecar(mode, agents), probes)
        return {(pod.key, mode, rewrite): Cell(result["passed"], compare.plain(result["text"], pod.address))
                for pod in pods for rewrite in ("off", "on") if (result := seen.get(f"{pod.key}/{rewrite}"))}

    def _rewrite(self, mode: str) -> dict[str, Rewritten]:
        """Returns workload -> its rewrite."""
        if mode == NO_MESH:
            return {}
        if mode == BUILT:
            folder = self._folder / "kustomization"
            folder.mkdir()
            return self._product.build(STRICT, folder)
        return self._product.rewrite(STRICT if mode in DEGRADED else mode)

    def _sidecar(self, mode: str, agents: list[Json]) -> Sidecar | None:
        if mode in (NO_MESH, NO_SIDECAR):
            return None
        policies = TREE / "policies" / f"{mode if mode in MODES else STRICT}.yaml"
        bootstrap = envoy_config.bootstrap(policy.read(policies.read_text()), self._protocols,
                                           str(self._rig.certificate), self._plant != plants.ANY_CLIENT)
        return Sidecar(bootstrap if mode != NO_ENVOY else None, self._excluded,
                       "agent.py" if mode != NO_AGENT else None, {"agents": agents},
                       self._plant != plants.NO_REDIRECT)

    def _judge_stand_ins(self) -> list[str]:
        """Compares every measured row, except those without a probe."""
        case_of = {pod.case.name: pod for pod in self.pods if pod.as_measured}
        wrong = []
        for row in self._rows:
            name, mode, rewrite = compare.key_of(row)
            pod = case_of.get(name)
            if pod is None or mode not in self._tried or (rewrite == "on" and pod.case.is_refused):
                continue
            if cell := self.cells.get((pod.key, mode, rewrite)):
                self.tally.add(pod.case.handler, tally.ROWS)
                wrong += compare.stand_in(row, cell)
            else:
                wrong.append(f"{name}/{mode}/{rewrite}: measured with Istio, but not tried here")
        return [f"stand-in: {line}" for line in wrong]

    def _judge_originals(self, mode: str) -> list[str]:
        """Compares the results of `predict` and `check` for the originals with the observed results."""
        predict, check = self._product.predict(mode), self._product.check(mode)
        races = {compare.key_of(row) for row in self._rows if compare.ALTERNATIVES in row["kubelet_text"]}
        wrong = []
        for case in sorted({pod.case for pod in self.pods}, key=lambda case: case.name):
            name = case.name
            states = {pod.state: (self.cells[pod.key, NO_MESH, "off"], self.cells[pod.key, mode, "off"])
                      for pod in self.pods if pod.case == case}
            # If the probe fails without a mesh although the application is up, the manifest is at fault.
            # No manifest contains the future address of the pod, either, which is the host of some probes.
            if not states["alive"][0].passed or case.names_pod:
                self._unjudged.add(name)
                continue
            predicted, found = predict[name], check.get(name, [])
            wrong += compare.outcome(name, states, predicted, mode)
            wrong += compare.texts(name, states, predicted, mode, (name, mode, "off") in races)
            wrong += compare.reported(name, found, predicted, mode)
            self.tally.add(case.handler, tally.JUDGED)
            self.tally.add(case.handler, tally.SPOILED, len(found))
            self.tally.add(case.handler, tally.TEXTS, len(compare.lost_in(states)) if predicted.text else 0)
        return wrong

    def _judge_rewritten(self, modes: list[str]) -> list[str]:
        wrong = []
        can = {pod.case.name for pod in self.pods if not pod.case.is_refused}
        for mode in modes:
            names = {pod.case.name for pod in self.pods}
            wrong += compare.same_workloads(f"rewritten in {mode}", can, self._written[mode].keys() & names)
        for (key, mode, rewrite), cell in self.cells.items():
            pod = next(pod for pod in self.pods if pod.key == key)
            self.tally.add(pod.case.handler, tally.CELLS)
            if rewrite == "on" and mode in modes:
                self.tally.add(pod.case.handler, tally.BUILT if mode == BUILT else tally.REWRITTEN)
                wrong += compare.rewritten_is_no_mesh(pod, self.cells[key, NO_MESH, "off"], cell, mode)
        return wrong


def _rows(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _probe(pod: Pod, rewrite: str, probe: Json) -> Json:
    return {"key": f"{pod.key}/{rewrite}", "address": pod.address, "ports": pod.case.ports, "probe": probe}

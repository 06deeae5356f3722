"""Runs probes with the stand-in, and with the prober of the kubelet if it is given; their results must be equal."""

import json
import re
import threading

import compare
from compare import Cell
from json_types import Json
from processes import Processes

# A repeated measurement replaces the first one.
ROUND = re.compile(r"-(again|\d+)$")


class Prober:
    """Both probers. `program` is a build of tests/oracle/kubernetes/prober; None for the stand-in alone."""

    def __init__(self, program: str | None):
        self._program = program
        self._lock = threading.Lock()
        # (name of the measurement, key of the probe) -> results of the kubelet and of the stand-in.
        self._cells: dict[tuple[str, str], tuple[Cell, Cell]] = {}

    def run(self, name: str, namespace: str, processes: Processes, probes: list[Json]) -> dict[str, Json]:
        """Returns key -> {"passed", "text"} of each probe, from the kubelet if it is given."""
        question = json.dumps(probes)
        stand_in: dict[str, Json] = json.loads(processes.answer(namespace, "prober.py", question))
        if self._program is None:
            return stand_in
        kubelet: dict[str, Json] = json.loads(processes.answer_of(namespace, question, self._program))
        cells = {(ROUND.sub("", name), probe["key"]):
                 (_cell(kubelet[probe["key"]], probe), _cell(stand_in[probe["key"]], probe)) for probe in probes}
        with self._lock:
            self._cells |= cells
        return kubelet

    def differences(self) -> list[str]:
        """Returns the probes with different results."""
        return [f"prober: {key}, {name}: the kubelet reports {kubelet}, the stand-in {stand_in}"
                for (name, key), (kubelet, stand_in) in self._cells.items() if not compare.alike(kubelet, stand_in)]

    def summary(self) -> str:
        """Returns the number of compared results."""
        passed = sum(kubelet.passed for kubelet, _ in self._cells.values())
        return f"{len(self._cells)} cells compared, {passed} passed, {len(self.differences())} differ"


def _cell(seen: Json, probe: Json) -> Cell:
    return Cell(seen["passed"], compare.plain(seen["text"], probe["address"]))

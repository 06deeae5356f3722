"""The matrix: each pod in each mode, with its original probe and the rewritten one."""

from cases import Case, Pod
from compare import Cell, Key
from evidence import Table, table
from modes import NO_MESH

HEADER = ("workload", "application", "handler", "port", "mode", "without_mesh", "original", "rewritten")
# Relations of the probed port to the sidecar.
UNRESOLVED, OTHER_HOST, EXCLUDED, NO_SERVICE, UNNAMED = (
    "unresolved name", "host given", "excluded", "no Service", "Service without protocol")


class Matrix:
    """Table of the results."""

    def __init__(self, pods: list[Pod], cells: dict[Key, Cell], modes: list[str], prefixes: dict[int, str],
                 excluded: list[str]):
        self._pods, self._cells, self._modes = pods, cells, modes
        self._prefixes, self._excluded = prefixes, excluded

    def table(self) -> Table:
        """Returns one row per pod and mode; `rewritten` is empty if `rewrite` refuses the workload."""
        pods = sorted(self._pods, key=lambda pod: pod.key)
        return table("live-proof", HEADER, (self._row(pod, mode) for pod in pods for mode in self._modes))

    def _row(self, pod: Pod, mode: str) -> tuple[str, ...]:
        cells = [self._cells.get(key) for key in (
            (pod.key, NO_MESH, "off"), (pod.key, mode, "off"), (pod.key, mode, "on"))]
        return (pod.case.name, pod.state, pod.case.handler, self._place(pod.case), mode, *map(word, cells))

    def _place(self, case: Case) -> str:
        """Returns the relation of the probed port to the sidecar."""
        if case.port is None:
            return UNRESOLVED
        if case.host:
            return OTHER_HOST
        if str(case.port) in self._excluded:
            return EXCLUDED
        if case.port not in self._prefixes:
            return NO_SERVICE
        prefix = self._prefixes[case.port]
        return f"Service {prefix}-*" if prefix else UNNAMED


def word(cell: Cell | None) -> str:
    """Returns the result of a probe as a word; empty if it was not run."""
    if cell is None:
        return ""
    return "pass" if cell.passed else "fail"

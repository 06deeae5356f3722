"""The matrix: handler, place of the port, state of the application, mode, original and rewritten."""

from cases import Case, Pod
from compare import Cell, Key
from modes import NO_MESH

NOT_TRIED = "–"
UNRESOLVED, OTHER_HOST, EXCLUDED, NO_SERVICE, UNNAMED = (
    "no such name", "`host` given", "excluded", "in no Service", "Service, no protocol")


class Matrix:
    """What was seen, as a table."""

    def __init__(self, pods: list[Pod], cells: dict[Key, Cell], modes: dict[str, str], prefixes: dict[int, str],
                 excluded: list[str]):
        self._pods, self._cells, self._modes = pods, cells, modes
        self._prefixes, self._excluded = prefixes, excluded

    def markdown(self) -> str:
        """`original → rewritten` in each mode; pods that behave alike share a row."""
        head = ["handler", "port", "application", "no mesh", *self._modes.values(), "pods"]
        lines = [_line(head), "|" + "---|" * len(head)]
        for (handler, place, without, *tried), pods in self._rows():
            states = sorted({pod.state for pod in pods})
            lines.append(_line([handler, place, ", ".join(states), without, *tried, str(len(pods))]))
        return "\n".join(lines)

    def _rows(self) -> list[tuple[tuple[str, ...], list[Pod]]]:
        found: dict[tuple[str, ...], list[Pod]] = {}
        for pod in self._pods:
            found.setdefault(self._seen(pod), []).append(pod)
        # Sorted by handler and place, the row of what works without a mesh first.
        return sorted(found.items(), key=lambda row: (row[0][0], row[0][1], row[0][2] != "pass", row[0]))

    def _seen(self, pod: Pod) -> tuple[str, ...]:
        without = self._cells[pod.key, NO_MESH, "off"]
        tried = []
        for mode in self._modes:
            original, rewritten = (mark(without, self._cells.get((pod.key, mode, rewrite)))
                                   for rewrite in ("off", "on"))
            tried.append(f"{original} → {rewritten}")
        return pod.case.handler, self._place(pod.case), mark(without, without), *tried

    def _place(self, case: Case) -> str:
        """How the probed port stands to the sidecar."""
        if case.port is None:
            return UNRESOLVED
        if case.host:
            return OTHER_HOST
        if str(case.port) in self._excluded:
            return EXCLUDED
        if case.port not in self._prefixes:
            return NO_SERVICE
        prefix = self._prefixes[case.port]
        return f"Service, `{prefix}-*`" if prefix else UNNAMED


def mark(without: Cell, cell: Cell | None) -> str:
    """One cell; bold where it differs from the same probe without a mesh."""
    if cell is None:
        return NOT_TRIED
    word = "pass" if cell.passed else "fail"
    return word if without.passed == cell.passed else f"**{word}**"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"

"""The matrix: handler, place of the port, state of the application, mode, original and rewritten."""

NOT_TRIED = "–"
UNRESOLVED, OTHER_HOST, EXCLUDED, NO_SERVICE, UNNAMED = (
    "no such name", "`host` given", "excluded", "in no Service", "Service, no protocol")


class Matrix:
    """What was seen, as a table."""

    def __init__(self, pods, cells, modes, prefixes, excluded):
        self.pods, self.cells, self.modes = pods, cells, modes
        self.prefixes, self.excluded = prefixes, excluded

    def markdown(self):
        """`original → rewritten` in each mode; pods that behave alike share a row."""
        head = ["handler", "port", "application", "no mesh", *self.modes.values(), "pods"]
        lines = [_line(head), "|" + "---|" * len(head)]
        for (handler, place, without, *tried), pods in self._rows():
            states = sorted({pod.state for pod in pods})
            lines.append(_line([handler, place, ", ".join(states), without, *tried, str(len(pods))]))
        return "\n".join(lines)

    def _rows(self):
        found = {}
        for pod in self.pods:
            found.setdefault(self._seen(pod), []).append(pod)
        # Sorted by handler and place, the row of what works without a mesh first.
        return sorted(found.items(), key=lambda row: (row[0][0], row[0][1], row[0][2] != "pass", row[0]))

    def _seen(self, pod):
        without = self.cells[pod.key, "none", "off"]
        tried = []
        for mode in self.modes:
            original, rewritten = (mark(without, self.cells.get((pod.key, mode, rewrite))) for rewrite in ("off", "on"))
            tried.append(f"{original} → {rewritten}")
        return pod.case.handler, self._place(pod.case), mark(without, without), *tried

    def _place(self, case):
        """How the probed port stands to the sidecar."""
        if case.port is None:
            return UNRESOLVED
        if case.host:
            return OTHER_HOST
        if str(case.port) in self.excluded:
            return EXCLUDED
        if case.port not in self.prefixes:
            return NO_SERVICE
        prefix = self.prefixes[case.port]
        return f"Service, `{prefix}-*`" if prefix else UNNAMED


def mark(without, cell):
    """One cell; bold where it differs from the same probe without a mesh."""
    if cell is None:
        return NOT_TRIED
    word = "pass" if cell[0] else "fail"
    return word if without[0] == cell[0] else f"**{word}**"


def _line(cells):
    return "| " + " | ".join(cells) + " |"

"""Counts the comparisons by handler, because a comparison that no longer happens is also a failure."""

from collections import Counter

CELLS, ROWS, JUDGED, SPOILED, TEXTS, REWRITTEN, BUILT = COLUMNS = (
    "cells", "rows of the measurement", "predicted", "spoiled and reported", "texts of these", "rewritten",
    "out of kustomize build")
# The minimum counts of a complete run, in the order of the columns.
FLOORS = {
    "http": (2335, 890, 222, 64, 64, 810, 135),
    "https": (517, 198, 54, 21, 21, 198, 33),
    "tcpSocket": (474, 258, 60, 42, 0, 156, 26),
    "grpc": (658, 252, 84, 24, 23, 252, 42),
}


class Tally:
    """Counts by handler and kind of comparison."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, handler: str, column: str, count: int = 1) -> None:
        self._counts[handler, column] += count

    def total(self, column: str) -> int:
        return sum(self._counts[handler, column] for handler in FLOORS)

    def short(self) -> list[str]:
        """Returns the counts of a complete run that are below their minimum."""
        return [f"{handler}: only {self._counts[handler, column]} {column}, not {floor}"
                for handler, floors in FLOORS.items() for column, floor in zip(COLUMNS, floors, strict=True)
                if self._counts[handler, column] < floor]

    def rows(self) -> list[tuple[str, str, int]]:
        """Returns handler, kind of comparison, count; then the sums."""
        of_handlers = [(handler, column, self._counts[handler, column]) for handler in FLOORS for column in COLUMNS]
        return of_handlers + [("all", column, self.total(column)) for column in COLUMNS]

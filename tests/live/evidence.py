"""The files of docs/evidence: the results, one row per cell, so that a difference is readable."""

import csv
import difflib
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "evidence"
# Lines of a difference that are shown.
SHOWN = 20


@dataclass(frozen=True)
class Table:
    """A file with a header and ordered rows."""

    name: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.csv"

    def text(self) -> str:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerows([self.header, *self.rows])
        return out.getvalue()


def table(name: str, header: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> Table:
    """Returns a table of any values that can be printed."""
    return Table(name, header, [tuple(map(str, row)) for row in rows])


def publish(tables: Iterable[Table], update: bool) -> list[str]:
    """Writes the tables, or lists how they differ from the published ones."""
    wrong = []
    for item in tables:
        new = item.text()
        if update:
            FOLDER.mkdir(exist_ok=True)
            item.path.write_text(new, encoding="utf-8", newline="")
            continue
        old = item.path.read_text(encoding="utf-8") if item.path.is_file() else ""
        if old != new:
            lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "published", "seen", lineterm="", n=0)
            difference = list(lines)
            left = len(difference) - SHOWN
            more = [f"… and {left} more lines"] if left > 0 else []
            wrong.append("\n".join([
                f"{item.path.relative_to(ROOT)} differs from the results; run with --update and review the difference:",
                *difference[:SHOWN], *more]))
    return wrong

"""Records a release as proven."""

import csv
from pathlib import Path

HEADER = ["release", "ref", "commit", "pods"]


def upsert(file: Path, row: list[str]) -> None:
    """Writes the row of a release, sorted by release; replaces an earlier row of the same release."""
    rows = {}
    if file.exists():
        with file.open(newline="") as lines:
            rows = {line[0]: line for line in list(csv.reader(lines))[1:]}
    rows[row[0]] = row
    ordered = sorted(rows.values(), key=lambda line: [int(number) for number in line[0].split(".")])
    with file.open("w", newline="") as output:
        csv.writer(output, lineterminator="\n").writerows([HEADER, *ordered])

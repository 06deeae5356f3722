"""Records a release as proven: record.py FILE TREE REF COMMIT PODS. tests/oracle/istio.sh --record calls it."""

import csv
import re
import sys
from pathlib import Path

HEADER = ["release", "ref", "commit", "pods"]


def upsert(file: Path, row: list[str]) -> None:
    """Writes the row of a release, sorted by release; replaces an earlier row of the same release."""
    with file.open(newline="") as lines:
        rows = {line[0]: line for line in list(csv.reader(lines))[1:]}
    rows[row[0]] = row
    ordered = sorted(rows.values(), key=lambda line: [int(number) for number in line[0].split(".")])
    with file.open("w", newline="") as output:
        csv.writer(output, lineterminator="\n").writerows([HEADER, *ordered])


def main() -> int:
    file, tree, ref, commit, pods = sys.argv[1:]
    # The version of a branch such as master is that of the next release, which does not exist yet.
    release = re.match(r"(?:release-)?(\d+\.\d+)", ref)
    version = Path(tree, "VERSION").read_text().strip()
    if not release or not version.startswith(release[1]):
        print(f"   not recorded: `{ref}` is not a release")
        return 0
    upsert(Path(file), [release[1], ref, commit, Path(pods).read_text().strip()])
    print(f"   recorded: Istio {release[1]} in {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

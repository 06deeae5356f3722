"""Prints the counts of a comparison and writes the cases that differ."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OUTCOMES = (
    "equal", "served", "unchanged", "refused", "accepted", "injected", "left alone", "invalid", "denied", "admitted",
    "reported", "not reported", "not predicted", "different",
)  # fmt: skip


# A string as `repr` writes it.
STRING = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""


@dataclass
class Difference:
    """One pod for which meshprobe and the mesh do not agree."""

    file: str
    check: str
    part: str
    detail: str
    mode: str
    # The workload, or the documents of its file.
    workload: Any

    def signature(self) -> tuple[str, str, str]:
        """Returns a key that is the same for differences with the same likely cause: it contains no values."""
        path, _, values = self.detail.partition(": expected ")
        kind = re.sub(rf"\d+|{STRING}|[^,\[\]{{}}N]", "", values)[:4]
        return (self.check, self.part, re.sub(r"ontainers/[^/]*/", "", path)[:60] + kind)


def print_counts(title: str, counts: dict[str, Counter[str]]) -> None:
    """Prints one line per check, and one with the guards of each check that can refuse a pod."""
    print(f"-- {title}")
    for check, outcomes in counts.items():
        if check.endswith(" guards"):
            text = ", ".join(f"{guard} {count}" for guard, count in outcomes.most_common())
            print(f"   {check}: {text}")
            continue
        listed = [f"{name} {outcomes[name]}" for name in OUTCOMES if outcomes[name] or name == "different"]
        print(f"   {check}: compared {outcomes.total()}, {', '.join(listed)}", flush=True)


def write_cases(folder: Path, mesh: str, found: list[Difference], minimized: Callable[[Difference], str]) -> int:
    """Writes one case per group of similar differences, and returns the exit code."""
    groups: dict[tuple[str, str, str], list[Difference]] = {}
    for difference in found:
        groups.setdefault(difference.signature(), []).append(difference)
    for number, group in enumerate(groups.values(), 1):
        write_case(folder, number, mesh, group[0], len(group), minimized(group[0]))
    return 1 if found else 0


def write_case(folder: Path, number: int, mesh: str, difference: Difference, count: int, manifest: str) -> None:
    """Writes the minimized manifest and an issue text, and prints the difference."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{number:03}-{difference.check.replace(' ', '-')}.yaml"
    path.write_text(manifest)
    title = f"{difference.check} differs from {mesh}: {difference.part}"
    path.with_suffix(".md").write_text(
        f"# {title}\n\n"
        f"The oracle found {count} pods with this difference, the first in `{difference.file}`, with "
        f"{difference.mode}.\n\n"
        f"```text\n{difference.detail}\n```\n\n"
        f"Minimized manifest:\n\n```yaml\n{manifest}```\n"
    )
    print(f"   different: {title} ({count} pods, {difference.mode}): {difference.detail[:300]}")
    print(f"      {path}", flush=True)

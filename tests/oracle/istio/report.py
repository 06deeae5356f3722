"""Prints the counts of a comparison and writes the cases that differ."""

from collections import Counter
from pathlib import Path
from typing import Any

from product import FORMS

OUTCOMES = ("equal", "served", "unchanged", "refused", "denied", "admitted", "not predicted", "different")


def print_counts(native: bool, files: int, counts: dict[str, Counter[str]]) -> None:
    """Prints one line per check, and one with the guards of each form."""
    print(f"-- {'native' if native else 'classic'} sidecars, {files} manifests")
    for check, outcomes in counts.items():
        if check.endswith(" guards"):
            text = ", ".join(f"{guard} {count}" for guard, count in outcomes.most_common())
            print(f"   {check}: {text}")
            continue
        listed = [f"{name} {outcomes[name]}" for name in OUTCOMES if outcomes[name] or name == "different"]
        print(f"   {check}: compared {outcomes.total()}, {', '.join(listed)}", flush=True)


def judge_quoted(unquoted: list[Any], quoted: list[Any]) -> int:
    """Returns 0 if quoting breaks the annotation form and no other form.

    Differences that also exist without quoting do not count.
    """

    def pods(found: list[Any]) -> set[tuple[str, str, bool]]:
        return {(difference.check, difference.file, difference.native) for difference in found}

    broken = Counter(form for form, _, _ in pods(quoted) - pods(unquoted) if form in FORMS)
    for form in FORMS:
        outcome = f"fails for {broken[form]} pods" if broken[form] else "passes"
        print(f"   quoted proxyMetadata: form {form} {outcome}")
    return 0 if set(broken) == {"annotation"} else 1


def write_case(folder: Path, number: int, version: str, difference: Any, count: int, manifest: str) -> None:
    """Writes the minimized manifest and an issue text, and prints the difference."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{number:03}-{difference.check.replace(' ', '-')}.yaml"
    path.write_text(manifest)
    sidecars = "native" if difference.native else "classic"
    title = f"{difference.check} differs from Istio {version}: {difference.part}"
    path.with_suffix(".md").write_text(
        f"# {title}\n\n"
        f"The oracle found {count} pods with this difference, the first in `{difference.file}`, with {sidecars} "
        f"sidecars.\n\n"
        f"```text\n{difference.detail}\n```\n\n"
        f"Minimized manifest:\n\n```yaml\n{manifest}```\n"
    )
    print(f"   different: {title} ({count} pods, {sidecars} sidecars): {difference.detail[:300]}")
    print(f"      {path}", flush=True)

"""Judges a comparison in which the injection template quotes proxyMetadata."""

from collections import Counter

from product import FORMS
from report import Difference


def judge_quoted(unquoted: list[Difference], quoted: list[Difference]) -> int:
    """Returns 0 if quoting breaks the annotation form and no other form.

    Differences that also exist without quoting do not count.
    """

    def pods(found: list[Difference]) -> set[tuple[str, str, str]]:
        return {(difference.check, difference.file, difference.mode) for difference in found}

    broken = Counter(form for form, _, _ in pods(quoted) - pods(unquoted) if form in FORMS)
    for form in FORMS:
        outcome = f"fails for {broken[form]} pods" if broken[form] else "passes"
        print(f"   quoted proxyMetadata: form {form} {outcome}")
    return 0 if set(broken) == {"annotation"} else 1

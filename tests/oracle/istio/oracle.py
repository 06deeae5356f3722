"""Compares meshprobe with the injector of one Istio release. tests/oracle/istio.sh calls it."""

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from compare import (
    changed_hosts,
    differences,
    effect,
    handlers,
    has_prober_env,
    invalid_port,
    is_served_by_manifest,
    kept_hosts,
    prediction_differences,
    unserved,
)
from injector import Injector
from minimize import minimize
from product import FORMS, Product
from program import read
from quoted import judge_quoted
from report import Difference, print_counts, write_cases
from validation import Validation, validate
from workloads import generate
from yaml_writer import to_yaml

Json = dict[str, Any]


class Oracle(Injector):
    """The process that runs Istio's webhook."""

    def __init__(self, arguments: argparse.Namespace, native: bool, quote: bool) -> None:
        command = [arguments.oracle, "-manifests", f"{arguments.tree}/manifests"]
        if quote:
            command.append("-quote-proxy-metadata")
        super().__init__(command, {"ENABLE_NATIVE_SIDECARS": str(native).lower()})


class Comparison:
    """Compares in one sidecar mode."""

    def __init__(self, arguments: argparse.Namespace, version: str, native: bool, quote: bool = False) -> None:
        self.mode = "native sidecars" if native else "classic sidecars"
        self.oracle = Oracle(arguments, native, quote)
        self.product = Product(arguments.meshprobe, version, native)
        self.counts: dict[str, Counter[str]] = {}
        self.differences: list[Difference] = []

    def count(self, check: str, outcome: str) -> None:
        self.counts.setdefault(check, Counter())[outcome] += 1

    def differ(self, file: str, check: str, part: str, detail: str, answer: Json) -> None:
        self.differences.append(Difference(file, check, part, detail, self.mode, answer["object"]))

    def run(self, manifests: dict[str, str]) -> None:
        originals = {file: self.oracle.admit(text) for file, text in manifests.items()}
        for form in FORMS:
            self.compare_form(manifests, originals, form)
        self.compare_predictions(manifests, originals)

    def compare_form(self, manifests: dict[str, str], originals: dict[str, list[Json]], form: str) -> None:
        """Compares `inject(rewrite(x))` with `inject(x)`."""
        # The annotation form is refused for a release until this comparison has proven it.
        options = (f"--form={form}", "--allow=release-not-proven")
        output, refused = self.product.rewrite(manifests, *options)
        for file, answers in originals.items():
            changed = output[file] != manifests[file]
            rewritten = self.oracle.admit(output[file]) if changed else answers
            if len(answers) != len(rewritten):
                self.count(form, "different")
                self.differ(file, form, "workloads", f"{len(answers)} became {len(rewritten)}", answers[0])
                continue
            for before, after in zip(answers, rewritten, strict=True):
                self.compare_pod(form, file, before, after, refused.get(file, set()))

    def compare_pod(self, form: str, file: str, before: Json, after: Json, guards: set[str]) -> None:
        if before == after:
            self.count(form, "refused" if guards else "unchanged")
            for guard in guards:
                self.count(f"{form} guards", guard)
            return
        served = is_served_by_manifest(before)
        parts = unserved(after) if served else self.pod_differences(before, after)
        self.count(form, "different" if parts else "served" if served else "equal")
        for part, detail in parts.items():
            self.differ(file, form, part, detail, before)

    def pod_differences(self, before: Json, after: Json) -> dict[str, str]:
        """Returns the differences between two injected pods, and between both after a second injection."""
        for outcome in ("undecoded", "denied"):
            if before.get(outcome) or after.get(outcome):
                same = bool(before.get(outcome)) == bool(after.get(outcome))
                detail = f"expected {before.get(outcome)!r}, got {after.get(outcome)!r}"
                return {} if same else {outcome: detail}
        if before.get("agent") is None:
            return {"not injected": "the pod was rewritten, although it is not injected"}
        exact = not has_prober_env(before)
        kept = kept_hosts(before, after)
        found = differences(effect(before, False, exact, kept), effect(after, False, exact, kept))
        found.update(changed_hosts(after, kept))
        if not found:
            second = differences(effect(before, True, exact, kept), effect(after, True, exact, kept))
            found = {f"{part} after reinvocation": detail for part, detail in second.items()}
        return found

    def compare_predictions(self, manifests: dict[str, str], originals: dict[str, list[Json]]) -> None:
        predictions, denials = self.product.predict(manifests), self.product.denied(manifests)
        for file, answers in originals.items():
            for answer in answers:
                if answer.get("undecoded"):
                    continue
                self.compare_denial(file, answer, denials.get(file, set()))
                if not answer.get("denied"):
                    self.compare_prediction(file, answer, predictions.get((file, answer["name"]), {}))

    def compare_denial(self, file: str, answer: Json, rules: set[str]) -> None:
        denied = answer.get("denied") or invalid_port(answer)
        same = bool(denied) == bool(rules)
        self.count("admission", ("denied" if rules else "admitted") if same else "different")
        if not same:
            detail = f"Istio: {denied or 'admitted'}; meshprobe: {sorted(rules) or 'no finding'}"
            self.differ(file, "admission", "denied", detail, answer)

    def compare_prediction(self, file: str, answer: Json, predictions: Json) -> None:
        before, after = handlers(answer["before"]), handlers(answer["pod"])
        for slot, handler in before.items():
            if slot not in predictions:
                self.count("prediction", "not predicted")
                continue
            for check, difference in prediction_differences(handler, after.get(slot), predictions[slot]).items():
                self.count(check, "different" if difference else "equal")
                if difference:
                    self.differ(file, check, predictions[slot]["kind"], difference, answer)


def minimized(arguments: argparse.Namespace, version: str, difference: Difference) -> Json:
    """Returns a smaller workload, or object, with the same difference."""
    if difference.mode == Validation.mode:
        return Validation(arguments, version).minimized(difference)
    comparison = Comparison(arguments, version, difference.mode == "native sidecars")

    def holds(workload: Json) -> bool:
        comparison.differences.clear()
        manifests = {"case.yaml": to_yaml(workload)}
        originals = {"case.yaml": comparison.oracle.admit(manifests["case.yaml"])}
        if difference.check in FORMS:
            comparison.compare_form(manifests, originals, difference.check)
        else:
            comparison.compare_predictions(manifests, originals)
        return any(found.signature() == difference.signature() for found in comparison.differences)

    try:
        return minimize(difference.workload, holds) if holds(difference.workload) else difference.workload
    finally:
        comparison.oracle.process.kill()


def inputs(arguments: argparse.Namespace) -> dict[str, str]:
    """Returns the text of each input file: the fixtures, and one file per generated workload."""
    fixtures = sorted(Path(arguments.fixtures, "rewrite").glob("*/input.yaml"))
    manifests = {f"{path.parent.name}.yaml": read(path) for path in fixtures}
    for workload in generate(arguments.seed, arguments.count):
        name = workload["metadata"]["name"]
        manifests[f"{name}.yaml"] = to_yaml(workload)
    return manifests


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("--oracle", "--tree", "--meshprobe", "--fixtures", "--output"):
        parser.add_argument(option, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--quote-proxy-metadata", action="store_true")
    return parser.parse_args()


def compare_modes(arguments: argparse.Namespace, version: str, quote: bool = False) -> list[Difference]:
    """Compares with classic and with native sidecars, and prints the counts."""
    manifests = inputs(arguments)
    found: list[Difference] = []
    for native in (False, True):
        comparison = Comparison(arguments, version, native, quote)
        comparison.run(manifests)
        comparison.oracle.process.kill()
        print_counts(f"{comparison.mode}, {len(manifests)} manifests", comparison.counts)
        found += comparison.differences
    return found


def main() -> int:
    arguments = parse_arguments()
    arguments.meshprobe = str(Path(arguments.meshprobe).resolve())
    version = Path(arguments.tree, "VERSION").read_text().strip()
    found = validate(arguments, version) + compare_modes(arguments, version)
    Path(arguments.output).mkdir(parents=True, exist_ok=True)
    Path(arguments.output, "pods").write_text(f"{len(inputs(arguments))}\n")
    if arguments.quote_proxy_metadata:
        print("-- with quoted proxyMetadata")
        return judge_quoted(found, compare_modes(arguments, version, quote=True))
    folder = Path(arguments.output)
    return write_cases(folder, f"Istio {version}", found, lambda case: to_yaml(minimized(arguments, version, case)))


if __name__ == "__main__":
    sys.exit(main())

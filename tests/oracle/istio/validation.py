"""Compares what meshprobe reports about Istio's own objects with the validation of one Istio release."""

import argparse
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from configurations import generate_configurations
from injector import Injector
from minimize import minimize
from product import Product
from program import Program, read, written
from report import Difference, print_counts
from yaml_writer import to_yaml

Json = dict[str, Any]
# The rules that report an object that the API server or istiod rejects.
REJECTIONS = {
    "peerauth-bad-mode", "peerauth-portlevel-without-selector", "policy-invalid", "vm-exec-empty", "vm-field-type",
    "vm-grpc-probe", "vm-header-name", "vm-negative", "vm-port", "vm-port-name", "vm-probe-two-handlers",
    "vm-probe-without-handler", "vm-scheme", "vm-template-missing",
}  # fmt: skip
UNKNOWN_FIELDS = {"vm-unknown-field"}
# The kinds of which only the fields are checked that change the verdict of a probe.
PARTLY_CHECKED = {"PeerAuthentication", "AuthorizationPolicy"}


class Validation:
    """Compares the verdicts about generated objects, and `mesh.yaml` of the WorkloadGroups."""

    mode = "validation"

    def __init__(self, arguments: argparse.Namespace, version: str) -> None:
        self.context = str(Path(arguments.fixtures, "vm/mesh-config.yaml").resolve())
        command = [arguments.oracle, "-manifests", f"{arguments.tree}/manifests", "-configurations", self.context]
        self.oracle = Injector(command, {})
        self.product = Product(arguments.meshprobe, version, native=False)
        self.machines = Program(arguments.meshprobe, [f"--context={self.context}", "--allow=vm-probe-refused"])
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.differences: list[Difference] = []

    def run(self, manifests: dict[str, str]) -> None:
        rules = self.rules(manifests)
        written_meshes = self.meshes({file: text for file, text in manifests.items() if "kind: WorkloadGroup" in text})
        for file, text in manifests.items():
            for answer in self.oracle.admit(text):
                self.compare_verdict(file, answer, rules[file])
                if answer["kind"] == "WorkloadGroup":
                    self.compare_mesh(file, answer, written_meshes.get(file))

    def rules(self, manifests: dict[str, str]) -> dict[str, set[str]]:
        """Returns the rules that `check` reports, by file."""
        with written(manifests) as folder:
            report = json.loads(self.product.run(folder, "check", "--quiet", "--output-format=json").stdout)
        found: dict[str, set[str]] = defaultdict(set)
        for finding in report["findings"]:
            found[Path(finding["path"]).name].add(finding["rule"])
        return found

    def meshes(self, manifests: dict[str, str]) -> Json:
        """Returns the content of `mesh.yaml` that `rewrite --vm` writes, by file of the WorkloadGroup."""
        with written(manifests) as folder:
            self.machines.run(folder, "rewrite", "--vm", "-o", "out")
            return {
                f"{path.parent.name}.yaml": self.oracle.admit(read(path))[0]["object"]
                for path in Path(folder, "out").glob("*/*/mesh.yaml")
            }

    def minimized(self, difference: Difference) -> Json:
        """Returns a smaller object with the same difference."""

        def holds(item: Json) -> bool:
            self.differences.clear()
            self.run({difference.file: to_yaml(item)})
            return any(found.signature() == difference.signature() for found in self.differences)

        try:
            return minimize(difference.workload, holds) if holds(difference.workload) else difference.workload
        finally:
            self.oracle.process.kill()

    def compare_verdict(self, file: str, answer: Json, rules: set[str]) -> None:
        reason = answer.get("undecoded") or answer.get("schema") or answer.get("webhook")
        if reason and "unknown fields [" in reason:
            # Only a client with strict validation rejects these, so they are warnings where they are reported.
            outcome = "reported" if rules & UNKNOWN_FIELDS else "not reported"
            self.counts[f"{answer['kind']} unknown fields"][outcome] += 1
            return
        reported = rules & REJECTIONS
        if reason and not reported and answer["kind"] in PARTLY_CHECKED:
            self.counts[answer["kind"]]["not checked"] += 1
            return
        same = bool(reason) == bool(reported)
        outcome = "different" if not same else "refused" if reason else "accepted"
        self.counts[answer["kind"]][outcome] += 1
        if not same:
            detail = f"Istio: {reason or 'accepted'}; meshprobe: {sorted(reported) or 'no finding'}"
            self.differ(file, answer["kind"], "missed" if reason else "false alarm", detail, answer)

    def compare_mesh(self, file: str, answer: Json, mesh: Any) -> None:
        # `rewrite --vm` also refuses objects that only the API server rejects, such as those with a port in quotes.
        same = answer.get("mesh") == mesh or (answer.get("schema") and mesh is None)
        self.counts["mesh.yaml"]["different" if not same else "equal" if mesh else "refused"] += 1
        if not same:
            detail = f"istioctl: {answer.get('meshError') or answer.get('mesh')}; meshprobe: {mesh}"
            self.differ(file, "mesh.yaml", "content" if answer.get("mesh") and mesh else "existence", detail, answer)

    def differ(self, file: str, check: str, part: str, detail: str, answer: Json) -> None:
        self.differences.append(Difference(file, check, part, detail, self.mode, answer["object"]))


def validate(arguments: argparse.Namespace, version: str) -> list[Difference]:
    """Compares the validation of `--count` generated objects, and prints the counts."""
    validation = Validation(arguments, version)
    objects = generate_configurations(arguments.seed, arguments.count)
    validation.run({f"{item['metadata']['name']}.yaml": to_yaml(item) for item in objects})
    validation.oracle.process.kill()
    print_counts(f"validation, {arguments.count} objects", validation.counts)
    return validation.differences

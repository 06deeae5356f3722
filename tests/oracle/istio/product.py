"""Runs meshprobe with the options of Istio."""

import json
from collections import defaultdict
from pathlib import Path

from program import Program, written

FORMS = ("annotation", "container", "container-only")
# The rules and guards that report a pod that Istio's webhook denies.
DENIALS = {
    "injection-template-unknown",
    "invalid-traffic-annotation",
    "prometheus-port-refused",
    "proxy-config-invalid",
    "status-port-zero",
}


class Product(Program):
    """The program that is tested, for one release of Istio."""

    def __init__(self, program: str, version: str, native: bool) -> None:
        settings = [f"--mesh-version={version}", f"--assume=native-sidecars={str(native).lower()}"]
        super().__init__(program, ["--mesh=istio", "--assume=injection=all", *settings])

    def denied(self, manifests: dict[str, str]) -> dict[str, set[str]]:
        """Returns the rules of `check` that report a denied pod, by file."""
        with written(manifests) as folder:
            report = json.loads(self.run(folder, "check", "--quiet", "--output-format=json").stdout)
        found: dict[str, set[str]] = defaultdict(set)
        for finding in report["findings"]:
            if finding["rule"] in DENIALS:
                found[Path(finding["path"]).name].add(finding["rule"])
        return found

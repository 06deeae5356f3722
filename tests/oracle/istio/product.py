"""Runs meshprobe on many manifests at once."""

import json
import re
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

Json = dict[str, Any]
FORMS = ("annotation", "container", "container-only")
# The rules and guards that report a pod that Istio's webhook denies.
DENIALS = {"injection-template-unknown", "invalid-traffic-annotation", "proxy-config-invalid", "status-port-zero"}
REFUSAL = re.compile(r"^error\[([a-z0-9-]+)\]", re.MULTILINE)
LOCATION = re.compile(r",-\[in/([^:\]]+)")


class Product:
    """The program that is tested, for one release of Istio."""

    def __init__(self, program: str, version: str, native: bool) -> None:
        self.program = program
        settings = [f"--mesh-version={version}", f"--assume=native-sidecars={str(native).lower()}"]
        self.options = ["--isolated", "--no-context", "--mesh=istio", "--assume=injection=all", *settings]

    def run(self, folder: str, command: str, *options: str) -> subprocess.CompletedProcess[str]:
        arguments = [self.program, command, "--color=never", *self.options, *options, "in"]
        finished = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False)
        if finished.returncode not in (0, 1):
            raise RuntimeError(f"{' '.join(arguments)}: exit code {finished.returncode}\n{finished.stderr}")
        return finished

    def rewrite(self, manifests: dict[str, str], form: str) -> tuple[dict[str, str], dict[str, set[str]]]:
        """Returns the files after `rewrite`, and the guards that refused, by file."""
        with written(manifests) as folder:
            finished = self.run(folder, "rewrite", f"--form={form}", "-o", "out")
            output = {name: read(Path(folder, "out", name)) for name in manifests}
        refused: dict[str, set[str]] = defaultdict(set)
        # A block of text per diagnostic; the first location is that of the workload.
        for block in re.split(r"\n(?=(?:error|warning|note)\[)", finished.stderr):
            guard, location = REFUSAL.match(block), LOCATION.search(block)
            if guard and location:
                refused[location[1]].add(guard[1])
        return output, refused

    def predict(self, manifests: dict[str, str]) -> dict[tuple[str, str], Json]:
        """Returns the predicted handlers by file and workload, then by container and slot."""
        with written(manifests) as folder:
            report = json.loads(self.run(folder, "predict", "--quiet", "--output-format=json").stdout)
        found: dict[tuple[str, str], Json] = defaultdict(dict)
        for workload in report["workloads"]:
            key = (Path(workload["path"]).name, workload["object"]["name"])
            for handler in workload["handlers"]:
                found[key][f"{handler['list']}/{handler['container']}/{handler['slot']}"] = handler
        return found

    def denied(self, manifests: dict[str, str]) -> dict[str, set[str]]:
        """Returns the rules of `check` that report a denied pod, by file."""
        with written(manifests) as folder:
            report = json.loads(self.run(folder, "check", "--quiet", "--output-format=json").stdout)
        found: dict[str, set[str]] = defaultdict(set)
        for finding in report["findings"]:
            if finding["rule"] in DENIALS:
                found[Path(finding["path"]).name].add(finding["rule"])
        return found


class written(tempfile.TemporaryDirectory[str]):
    """A temporary folder with the manifests in `in`."""

    def __init__(self, manifests: dict[str, str]) -> None:
        super().__init__(prefix="oracle-")
        Path(self.name, "in").mkdir()
        for name, text in manifests.items():
            Path(self.name, "in", name).write_bytes(text.encode())


def read(path: Path) -> str:
    """Returns the text of a file with its line ends."""
    return path.read_bytes().decode()

"""Runs meshprobe on many manifests at once."""

import json
import re
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

Json = dict[str, Any]
REFUSAL = re.compile(r"^error\[([a-z0-9-]+)\]", re.MULTILINE)
LOCATION = re.compile(r",-\[in/([^:\]]+)")


class Program:
    """The program that is tested, with the options of one release of a mesh."""

    def __init__(self, program: str, options: list[str]) -> None:
        self.program = program
        self.options = ["--isolated", "--no-context", *options]

    def run(self, folder: str, command: str, *options: str) -> subprocess.CompletedProcess[str]:
        arguments = [self.program, command, "--color=never", *self.options, *options, "in"]
        finished = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False)
        if finished.returncode not in (0, 1):
            raise RuntimeError(f"{' '.join(arguments)}: exit code {finished.returncode}\n{finished.stderr}")
        return finished

    def rewrite(self, manifests: dict[str, str], *options: str) -> tuple[dict[str, str], dict[str, set[str]]]:
        """Returns the files after `rewrite` with options, and the guards that refused, by file."""
        with written(manifests) as folder:
            finished = self.run(folder, "rewrite", *options, "-o", "out")
            output = {name: read(Path(folder, "out", name)) for name in manifests}
        refused: dict[str, set[str]] = defaultdict(set)
        # A block of text per diagnostic; the first location is that of the workload.
        for block in re.split(r"\n(?=(?:error|warning|note)\[)", finished.stderr):
            guard, location = REFUSAL.match(block), LOCATION.search(block)
            if guard and location:
                refused[location[1]].add(guard[1])
        return output, refused

    def workloads(self, manifests: dict[str, str]) -> dict[tuple[str, str], Json]:
        """Returns the predicted workloads by file and name."""
        with written(manifests) as folder:
            report = json.loads(self.run(folder, "predict", "--quiet", "--output-format=json").stdout)
        return {(Path(item["path"]).name, item["object"]["name"]): item for item in report["workloads"]}

    def predict(self, manifests: dict[str, str]) -> dict[tuple[str, str], Json]:
        """Returns the predicted handlers by file and workload, then by container and slot.

        Services of Knative have none: Knative creates other pods than their template says.
        """
        workloads = self.workloads(manifests).items()
        return {key: predicted_handlers(workload) for key, workload in workloads if not is_knative(workload)}


def is_knative(workload: Json) -> bool:
    """Returns whether Knative creates the pods of a workload."""
    return str(workload["object"]["apiVersion"]).startswith("serving.knative.dev/")


def predicted_handlers(workload: Json) -> Json:
    """Returns the handlers of a predicted workload, by list, container and slot."""
    return {f"{item['list']}/{item['container']}/{item['slot']}": item for item in workload["handlers"]}


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

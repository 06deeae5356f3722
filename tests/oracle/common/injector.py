"""Sends manifests to the program that runs the injector of a mesh."""

import json
import os
import subprocess
from typing import Any

Json = dict[str, Any]


class Injector:
    """The process that runs the injector. It answers one line of JSON with one line."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        # The process is short-lived; collecting garbage less often saves a third of its time.
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={"GOGC": "1000", **os.environ, **environment},
        )  # fmt: skip

    def admit(self, manifest: str) -> list[Json]:
        """Returns the outcome of each workload of a manifest."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps({"manifest": manifest}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        # A package of the mesh may log to standard output when it is loaded.
        while line and not line.startswith("["):
            line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the injector stopped with exit code {self.process.wait()}")
        answers: list[Json] = json.loads(line)
        return answers

"""Processes inside a namespace, which are ended together."""

import subprocess
import sys
import threading
from pathlib import Path
from typing import Self

HERE = Path(__file__).parent
READY = "ready"
# The running processes of all modes, and whether the run is being stopped, so that no more may be started.
_running: set["subprocess.Popen[str]"] = set()
_stopped = threading.Event()


def stop_all() -> None:
    """Ends all processes. Code that waits for an answer then fails, and cleans up."""
    _stopped.set()
    for process in list(_running):
        process.kill()


class Processes:
    """Starts processes and ends them when the block ends."""

    def __init__(self) -> None:
        self._started: list[subprocess.Popen[str]] = []
        self._scripts: dict[str, subprocess.Popen[str]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._started:
            process.kill()
        for process in self._started:
            process.wait()
            _running.discard(process)
            for stream in (process.stdin, process.stdout):
                if stream:
                    stream.close()

    def python(self, namespace: str, script: str, *arguments: object) -> None:
        """Starts one of our scripts."""
        self._scripts[script] = self._start(
            namespace, [sys.executable, "-B", str(HERE / script), *map(str, arguments)])

    def wait_for_scripts(self) -> None:
        """Returns when all scripts have reported that they are ready."""
        for script, process in self._scripts.items():
            if not process.stdout or process.stdout.readline().strip() != READY:
                raise RuntimeError(f"{script} did not start")

    def answer(self, namespace: str, script: str, question: str) -> str:
        """Runs one of our scripts to its end, with this standard input, and returns its standard output."""
        return self.answer_of(namespace, question, sys.executable, "-B", str(HERE / script))

    def answer_of(self, namespace: str, question: str, *command: str) -> str:
        """Runs a program to its end, with this standard input, and returns its standard output."""
        process = self._start(namespace, [*command])
        answer, _ = process.communicate(question)
        if process.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} ended with status {process.returncode}")
        return answer

    def program(self, namespace: str, user: int, program: Path, *arguments: object) -> "subprocess.Popen[str]":
        """Starts a program as a user."""
        return self._start(namespace, [sys.executable, "-B", str(HERE / "privileges.py"), str(user),
                                       str(program), *map(str, arguments)])

    def _start(self, namespace: str, command: list[str]) -> "subprocess.Popen[str]":
        if _stopped.is_set():
            raise RuntimeError("stopped")
        process = subprocess.Popen(["ip", "netns", "exec", namespace, *command],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._started.append(process)
        _running.add(process)
        return process

"""Processes inside a namespace, all of them ended together."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
READY = "ready"


class Processes:
    """Starts processes and ends them when the block ends."""

    def __init__(self):
        self._started = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self._started:
            process.kill()
        for process in self._started:
            process.wait()
            process.stdout.close()

    def python(self, namespace, script, *arguments):
        """Starts one of our scripts and waits until it says that it is ready."""
        process = self._start(namespace, [sys.executable, "-B", str(HERE / script), *map(str, arguments)])
        line = process.stdout.readline().strip()
        if line != READY:
            raise RuntimeError(f"{script} did not start: {line}")

    def program(self, namespace, user, program, *arguments):
        """Starts a program as a user."""
        return self._start(namespace, [sys.executable, "-B", str(HERE / "privileges.py"), str(user),
                                       str(program), *map(str, arguments)])

    def _start(self, namespace, command):
        process = subprocess.Popen(["ip", "netns", "exec", namespace, *command],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self._started.append(process)
        return process

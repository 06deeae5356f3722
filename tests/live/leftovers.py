"""Removes the namespaces and the folder of a killed run, which have its process id in their names."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

PREFIX = "mp-live-"
PROGRAM = b"tests/live/run.py"


def sweep() -> None:
    """Deletes the namespaces and folders of runs that have ended."""
    listed = subprocess.run(("ip", "netns", "list"), capture_output=True, text=True, check=False).stdout
    for line in listed.splitlines():
        if _is_left(line.split()[0]):
            subprocess.run(("ip", "netns", "delete", line.split()[0]), capture_output=True, check=False)
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if _is_left(folder.name) and folder.stat().st_uid == os.geteuid():
            shutil.rmtree(folder, ignore_errors=True)


def _is_left(name: str) -> bool:
    """Returns whether a name belongs to a run whose process no longer exists."""
    process = name.removeprefix(PREFIX).split("-")[0]
    if not (name.startswith(PREFIX) and process.isdigit()):
        return False
    try:
        return PROGRAM not in Path("/proc", process, "cmdline").read_bytes()
    except OSError:
        return True

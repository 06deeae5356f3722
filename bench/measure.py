"""Measures commands alternately; used by the other scripts of this folder."""

import os
import statistics
import subprocess
import time


def spent(command, folder):
    """Runs a shell command; returns CPU seconds, wall-clock seconds and peak memory in MiB."""
    started = time.monotonic()
    with open(os.devnull, "wb") as nothing:
        process = subprocess.Popen(
            ["sh", "-c", command], cwd=folder, stdin=subprocess.DEVNULL, stdout=nothing, stderr=nothing
        )
        _, _, used = os.wait4(process.pid, 0)
    return used.ru_utime + used.ru_stime, time.monotonic() - started, used.ru_maxrss / 1024


def measured(commands, folder, rounds):
    """Returns name -> medians of CPU seconds, wall-clock seconds and MiB; each round starts with another program."""
    runs = {name: [] for name in commands}
    names = list(commands)
    for name in names:
        spent(commands[name], folder)
    for turn in range(rounds):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            runs[name].append(spent(commands[name], folder))
    return {
        name: [statistics.median(column) for column in zip(*all_runs, strict=True)] for name, all_runs in runs.items()
    }


def size(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    return len(files), sum(path.stat().st_size for path in files)

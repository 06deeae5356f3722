"""Measures `diff` and `check` alternately; called by diff.sh."""

import argparse
import os
import pathlib
import re
import shutil
import subprocess

from measure import measured, size

CHANGED = 20
# Files that are older than the index need not be compared again by git.
OLD = 1_700_000_000
IMAGE = re.compile(r"(\bimage: *[\w./:-]+)")
COMMANDS = {
    "check": "check --fail-on never .",
    "what if: --to mtls=STRICT": "diff --fail-on never --to mtls=STRICT .",
    "working tree: --since HEAD~1": "diff --fail-on never --since HEAD~1 .",
    "revisions: --since HEAD~1 --until HEAD": "diff --fail-on never --since HEAD~1 --until HEAD .",
}


def git(folder, *arguments):
    subprocess.run(["git", *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def repository(tree, folder, copies):
    """Creates a repository with copies of a tree, and a second commit that changes 20 files."""
    for number in range(copies):
        shutil.copytree(tree, folder / f"copy-{number}", symlinks=True, ignore=shutil.ignore_patterns(".git"))
    commit(folder, "first")
    manifests = sorted(path for path in folder.rglob("*.yaml") if path.is_file() and not path.is_symlink())
    for path in manifests[:: max(1, len(manifests) // CHANGED)][:CHANGED]:
        path.write_bytes(changed(path.read_bytes()))
    commit(folder, "second")
    git(folder, "gc", "--quiet")


def changed(content):
    """Returns another image, or another comment."""
    text = content.decode("latin-1")
    text, count = IMAGE.subn(r"\1-changed", text, count=1)
    if not count:
        text = text.rstrip("\n") + "\n# changed\n"
    return text.encode("latin-1")


def commit(folder, message):
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and ".git" not in path.parts:
            os.utime(path, (OLD, OLD))
    git(folder, "init", "--quiet")
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--message", message)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--meshprobe", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("tree", type=pathlib.Path)
    options = parser.parse_args()
    for copies in (1, 10):
        folder = options.work / f"repository-{copies}"
        repository(options.tree.resolve(), folder, copies)
        files = size(options.tree)[0] * copies
        commands = {name: f"{options.meshprobe} {arguments}" for name, arguments in COMMANDS.items()}
        rows = measured(commands, folder, options.rounds)
        load = os.getloadavg()[0]
        print(f"\n{files} files; medians of {options.rounds} rounds; {os.cpu_count()} cores, load {load:.1f}")
        print(f"{'':42}{'CPU s':>8}{'x check':>9}{'wall s':>8}{'MiB':>7}{'x check':>9}")
        check = rows["check"]
        for name, (cpu, wall, memory) in rows.items():
            print(f"{name:42}{cpu:8.3f}{cpu / check[0]:9.2f}{wall:8.3f}{memory:7.0f}{memory / check[2]:9.2f}")


if __name__ == "__main__":
    main()

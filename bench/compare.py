"""Measures programs alternately; called by compare.sh."""

import argparse
import os
import pathlib
import resource
import shutil

from measure import measured, size

FLOOR = "find | xargs cat"


def peers(options):
    """Returns name -> command, without programs that are not installed."""
    manifests = r"find . -type f \( -name '*.yaml' -o -name '*.yml' \) -print0 | xargs -0"
    schemas = f"{options.schemas}/{{{{ .ResourceKind }}}}{{{{ .KindSuffix }}}}.json"
    commands = {
        FLOOR: "find . -type f -print0 | xargs -0 cat",
        "meshprobe check": f"{options.meshprobe} check --isolated --fail-on never .",
        "meshprobe check --threads 1": f"{options.meshprobe} check --isolated --fail-on never --threads 1 .",
        "kubeconform": f"kubeconform -n 2 -ignore-missing-schemas -schema-location '{schemas}' .",
        "kube-score": f"{manifests} kube-score score",
        "kube-linter": "kube-linter lint .",
        "istioctl analyze": "istioctl analyze --use-kube=false --recursive .",
        "polaris": "polaris audit --audit-path .",
    }
    wanted = {"meshprobe": None, "find": None}
    found = {}
    for name, command in commands.items():
        program = name.split()[0]
        if program in wanted or shutil.which(program):
            found[name] = command
        else:
            print(f"{program} is not installed: left out")
    return found


def table(title, rows, floor):
    print(f"\n{title}")
    print(f"{'':32}{'CPU s':>8}{'x floor':>9}{'wall s':>8}{'MiB':>7}")
    for name, (cpu, wall, memory) in rows.items():
        print(f"{name:32}{cpu:8.3f}{cpu / floor:9.1f}{wall:8.3f}{memory:7.0f}")


def copies(tree, work, count):
    target = work / f"times-{count}"
    for number in range(count):
        shutil.copytree(tree, target / f"copy-{number}", symlinks=True)
    return target


def part(tree, work, share):
    """Copies folders until about the given share of the files is copied, and returns the copy."""
    target = work / "part"
    wanted = size(tree)[0] * share
    folders = [path for path in sorted(tree.rglob("*")) if path.is_dir() and len(path.relative_to(tree).parts) == 2]
    taken = 0
    for folder in folders or [tree]:
        if taken >= wanted:
            break
        shutil.copytree(folder, target / folder.relative_to(tree), symlinks=True)
        taken += size(folder)[0]
    return target


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--meshprobe", required=True)
    parser.add_argument("--schemas", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("tree", type=pathlib.Path)
    options = parser.parse_args()
    tree = options.tree.resolve()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    commands = peers(options)
    files, length = size(tree)
    rows = measured(commands, tree, options.rounds)
    load = os.getloadavg()[0]
    title = f"{files} files, {length / 1e6:.1f} MB; medians of {options.rounds} rounds; "
    title += f"{os.cpu_count()} cores, load {load:.1f}"
    table(title, rows, rows[FLOOR][0])
    if "kubeconform" in rows:
        print(f"kubeconform / meshprobe check: {rows['kubeconform'][0] / rows['meshprobe check'][0]:.1f} x CPU")

    own = {name: command for name, command in commands.items() if name == FLOOR or name.startswith("meshprobe")}
    for folder in (part(tree, options.work, 0.1), copies(tree, options.work, 10)):
        files, length = size(folder)
        rows = measured(own, folder, options.rounds)
        table(f"{files} files, {length / 1e6:.1f} MB", rows, rows[FLOOR][0])
        one, two = rows["meshprobe check --threads 1"][1], rows["meshprobe check"][1]
        print(f"two threads / one: {two / one:.2f} of the wall-clock time")


main()

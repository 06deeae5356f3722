"""Prints the gauges of the project, next to the values that were recorded last: `gauges.py BINARY [--record]`.

These are lines of code of the program (without tests, comments and blank lines) and files per crate, instructions of
`check` on one thread for two trees, and its peak memory. Nothing fails; what grew by more than 1 % is marked. The
option `--record` writes the values to gauges.json, so that the history of that file shows them.
"""

import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import measure

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORDED = pathlib.Path(__file__).with_suffix(".json")
TEST_MODULE = re.compile(r"^#\[cfg\(test\)\]\n(?:#\[.*\]\n)*mod \w+ \{\n.*?^\}\n", re.DOTALL | re.MULTILINE)


def is_test(path):
    return path.stem.endswith("tests") or "tests" in path.parts


def code_lines(path):
    text = TEST_MODULE.sub("", path.read_text(encoding="utf-8"))
    lines = (line.strip() for line in text.splitlines())
    return sum(1 for line in lines if line and not line.startswith("//"))


def weights():
    """Returns crate -> the code lines of each of its files."""
    crates = {}
    for path in sorted(ROOT.glob("src/**/*.rs")) + sorted(ROOT.glob("crates/*/src/**/*.rs")):
        inside = path.relative_to(ROOT)
        if not is_test(inside):
            name = inside.parts[1] if inside.parts[0] == "crates" else "meshprobe"
            crates.setdefault(name, []).append(code_lines(path))
    return crates


def instructions(binary, tree):
    """Returns the instructions of `check` on one thread in millions, or None without valgrind."""
    if not shutil.which("valgrind"):
        return None
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", binary, *check(tree)]
    run = subprocess.run(command, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    counted = re.search(r"refs:\s+([\d,]+)", run.stderr)
    return round(int(counted[1].replace(",", "")) / 1e6) if counted else None


def check(tree):
    return ["check", "--isolated", "--no-context", "--threads", "1", "--output-format", "json", str(tree)]


def measured(binary):
    values = {}
    crates = weights()
    files = [lines for crate in crates.values() for lines in crate]
    for name, lines in [("all", files), *crates.items()]:
        values[f"{name}: code lines"] = sum(lines)
        values[f"{name}: files"] = len(lines)
    values["all: median code lines of a file"] = round(statistics.median(files))
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder) / "tree"
        subprocess.run([sys.executable, ROOT / "bench" / "tree.py", tree, "300"], check=True)
        values["check of 300 generated files: million instructions"] = instructions(binary, tree)
        _, _, memory = measure.spent(" ".join([binary, *check(tree)]), folder)
        values["check of 300 generated files: peak MiB"] = round(memory)
    values["check of fixtures/kustomize: million instructions"] = instructions(binary, ROOT / "fixtures" / "kustomize")
    return {name: value for name, value in values.items() if value is not None}


def main():
    binary = os.path.abspath(sys.argv[1])
    recorded = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
    values = measured(binary)
    for name, value in values.items():
        before = recorded.get(name)
        grew = before is not None and value > before * 1.01
        print(f"{name:58} {value:>8} {'' if before is None else before:>8}{'  grew' if grew else ''}")
    if "--record" in sys.argv[2:]:
        RECORDED.write_text(json.dumps(recorded | values, indent=2) + "\n", encoding="utf-8")


main()

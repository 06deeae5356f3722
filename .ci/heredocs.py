"""Extracts the Python programs in here-documents of shell scripts to files, for ruff.

Usage: heredocs.py FOLDER SCRIPT...

Prints the number of programs. A program keeps its line numbers: the lines of shell before it become empty.
"""

import pathlib
import re
import sys

START = re.compile(r"""(?:^|[\s"/(])python3?"? .*<<'(?P<end>[A-Z]+)'""")


def programs(lines):
    """Yields the lines of each program in a script, with an empty line for each line before it."""
    start, end = 0, None
    for number, line in enumerate(lines):
        if end is None:
            found = START.search(line)
            if found:
                start, end = number + 1, found["end"]
        elif line == end:
            yield [""] * start + lines[start:number]
            end = None
    if end is not None:
        raise SystemExit(f"a here-document does not end: {end}")


def main():
    folder = pathlib.Path(sys.argv[1])
    count = 0
    for script in map(pathlib.Path, sys.argv[2:]):
        for program in programs(script.read_text(encoding="utf-8").splitlines()):
            count += 1
            name = f"{script.stem}-{count}.py"
            (folder / name).write_text("\n".join(program) + "\n", encoding="utf-8")
    print(count)


main()

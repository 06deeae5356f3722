"""Prepares a page of docs/start for a test: start.py PAGE FOLDER

Writes each `yaml` block that starts with `# file: path` to that file below FOLDER, the lines of the `sh` blocks to
FOLDER.commands, and the lines of the `text` blocks, which the output must contain, to FOLDER.expected.
"""

import pathlib
import re
import sys

page, folder = map(pathlib.Path, sys.argv[1:3])
folder.mkdir(parents=True, exist_ok=True)
blocks = re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text(), re.M | re.S)
assert {language for language, _ in blocks} <= {"sh", "yaml", "text"}, "no test runs the other languages"
for language, block in blocks:
    if language == "yaml":
        first, text = block.split("\n", 1)
        assert first.startswith("# file: "), f"{page}: a block without a file"
        path = folder / first.removeprefix("# file: ")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
for name, wanted in (("commands", "sh"), ("expected", "text")):
    text = "".join(block for language, block in blocks if language == wanted)
    folder.with_name(f"{folder.name}.{name}").write_text(text)

"""Extracts the code blocks of the README: readme.py README FOLDER

Writes the lines of its `sh` blocks to FOLDER/commands, and each `yaml` block to FOLDER/N.yaml, from 1.
"""

import pathlib
import re
import sys

text = pathlib.Path(sys.argv[1]).read_text()
folder = pathlib.Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
blocks = re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S)
assert {language for language, _ in blocks} <= {"sh", "yaml", "console"}, "no test runs the other languages"
commands = "".join(block for language, block in blocks if language == "sh")
(folder / "commands").write_text(commands)
snippets = [block for language, block in blocks if language == "yaml"]
for number, snippet in enumerate(snippets, 1):
    (folder / f"{number}.yaml").write_text(snippet)
print(len(snippets))

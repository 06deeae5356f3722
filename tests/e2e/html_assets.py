"""Checks the style of HTML reports: python html_assets.py FOLDER

The style sheet has no errors, every variable that it uses is set, and its classes and ids are those of the program.
"""

import pathlib
import re
import sys

import tinycss2

folder = pathlib.Path(sys.argv[1])
style = (folder / "assets" / "report.css").read_text(encoding="utf-8")
script = (folder / "assets" / "report.js").read_text(encoding="utf-8")
program = "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.rs")))
problems = []


def check_rules(text):
    rules = tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True)
    for rule in rules:
        if rule.type == "error":
            problems.append(f"line {rule.source_line}: {rule.message}")
        elif rule.type == "at-rule" and rule.content is not None:
            check_rules(tinycss2.serialize(rule.content))
        elif rule.type == "qualified-rule":
            selectors.append(tinycss2.serialize(rule.prelude))
            parts = tinycss2.parse_declaration_list(rule.content, skip_comments=True, skip_whitespace=True)
            problems.extend(f"line {part.source_line}: {part.message}" for part in parts if part.type == "error")


selectors = []
check_rules(style)
used = set(re.findall(r"var\((--[a-z-]+)", style))
declared = set(re.findall(r"^\s*(--[a-z-]+):", style, flags=re.MULTILINE))
problems.extend(f"variable {name} is not set" for name in sorted(used - declared))
problems.extend(f"variable {name} is not used" for name in sorted(declared - used))
strings = re.findall(r'"((?:[^"\\\n]|\\.)*)"', program.replace("'\"'", ""))
words = set(re.findall(r"[a-z-]+", " ".join(strings)))
# Classes and ids in the templates of maud, such as `div.scroll` and `.bar`, follow an element or stand alone.
elements = "a|article|button|code|dd|details|div|dl|dt|footer|h[1-6]|header|input|label|li|main|nav|ol|option|p|pre"
elements += "|rect|section|select|span|strong|summary|svg|table|tbody|td|text|th|thead|tr|ul"
written = re.findall(rf"(?<![\w.)])(?:{elements})?((?:\s?[.#][a-z][a-z-]*)+)(?![\w(])", program)
words.update(name for names in written for name in re.findall(r"[a-z][a-z-]*", names))
for selector in selectors:
    names = re.findall(r"[.#]([a-z][a-z-]*)", re.sub(r"\[[^\]]*\]", "", selector))
    unknown = (name for name in names if name not in words)
    problems.extend(f"`{selector.strip()}` selects {name}, which the program does not write" for name in unknown)
ids = re.findall(r'getElementById\("([a-z-]+)"\)', script)
problems.extend(f"the script uses the id {name}, which the program does not write" for name in ids if name not in words)
if problems:
    sys.exit("\n".join(problems))

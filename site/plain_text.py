"""Adds plain text for assistants to the built site: plain_text.py SITE

Writes the Markdown of each page next to its HTML, `llms.txt`, which lists the pages (the format is described at
llmstxt.org), and `llms-full.txt`, which contains all of them but the pages of single rules.
"""

import pathlib
import re
import sys
import tomllib

from repository import Links, version

ENTRY = re.compile(r"^(?:\s*- )?\[(.+)\]\(([^()\s]+)\)$")


def paragraph(text: str) -> str:
    """Returns the first paragraph of prose of a page, on one line."""
    for block in text.split("\n\n")[1:]:
        if not re.match(r"[#|!<`-]|Severity: ", block.lstrip()):
            return re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", " ".join(block.split()))
    return ""


def main() -> None:
    """Writes the files."""
    site, root = pathlib.Path(sys.argv[1]), pathlib.Path(__file__).parent.parent
    config = tomllib.loads((root / "book.toml").read_text(encoding="utf-8"))
    source = root / config["book"]["src"]
    links = Links(root, config["book"]["src"], config["output"]["html"]["git-repository-url"])
    index, full = [], []
    for line in (source / "SUMMARY.md").read_text(encoding="utf-8").splitlines()[1:]:
        if line.startswith("# "):
            index.append(f"\n## {line[2:]}\n")
        found = ENTRY.match(line)
        if found is None:
            continue
        title, page = found[1], found[2]
        text = links.rewrite(page, (source / page).read_text(encoding="utf-8"))
        text = re.sub(r"(?<=[(/])index\.md", "README.md", text)
        (site / page).write_text(text, encoding="utf-8")
        about = paragraph(text)
        if page != "README.md":
            index.append(f"- [{title}]({page})" + (f": {about}" if about else ""))
        if page.startswith("rules/") and page != "rules/README.md":
            continue
        full.append(f"<!-- {page} -->\n\n{text.strip()}\n")
    about = paragraph((source / "README.md").read_text(encoding="utf-8"))
    head = f"# {config['book']['title']}\n\n> {about}\n\nThese pages describe meshprobe {version(root)}. "
    (site / "llms.txt").write_text(
        head + "`llms-full.txt` contains all of them but the pages of single rules.\n" + "\n".join(index) + "\n",
        encoding="utf-8",
    )
    (site / "llms-full.txt").write_text("\n\n".join(full), encoding="utf-8")


main()

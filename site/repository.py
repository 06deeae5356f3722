"""An mdBook preprocessor: the links that leave docs/, and the version that each page describes.

mdBook publishes the files below docs/ only. A link such as `../CONTRIBUTING.md` becomes a link to that file in the
repository, and must exist there.
"""

import json
import pathlib
import posixpath
import re
import sys

# A link or picture outside of code: `](target)`.
LINK = re.compile(r"\]\(([^()\s]+)\)")
CODE = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.M | re.S)


def version(root: pathlib.Path) -> str:
    """Returns the version in Cargo.toml."""
    found = re.search(r'^version = "(.+)"$', (root / "Cargo.toml").read_text(encoding="utf-8"), re.M)
    if found is None:
        raise SystemExit("Cargo.toml has no version")
    return found[1]


class Links:
    """Rewrites the links of pages that leave the folder of the book."""

    def __init__(self, root: pathlib.Path, source: str, repository: str) -> None:
        self.root, self.source, self.repository = root, source, repository

    def target(self, page: str, link: str) -> str:
        """Returns the address for a link of the page, whose path is relative to the book."""
        if re.match(r"[a-z]+:|#|/", link):
            return link
        path, _, anchor = link.partition("#")
        target = posixpath.normpath(posixpath.join(self.source, posixpath.dirname(page), path))
        exists = self.root / target
        if not exists.exists():
            raise SystemExit(f"{self.source}/{page}: `{link}` does not exist")
        inside = target.startswith(self.source + "/")
        if inside and exists.is_file():
            # The preprocessor `index` renames these pages.
            return re.sub(r"(^|/)README\.md(?=#|$)", r"\1index.md", link)
        kind = "tree" if exists.is_dir() else "blob"
        return f"{self.repository}/{kind}/main/{target}" + (f"#{anchor}" if anchor else "")

    def rewrite(self, page: str, text: str) -> str:
        """Returns the text of a page with its links rewritten, except those in code."""
        # `split` returns the text outside of code at even places.
        parts = CODE.split(text)
        for index in range(0, len(parts), 2):
            parts[index] = LINK.sub(lambda found: f"]({self.target(page, found[1])})", parts[index])
        return "".join(parts)


def chapters(items: list) -> list:
    """Returns the chapters of a book, with those below them."""
    found = []
    for item in items:
        if isinstance(item, dict) and "Chapter" in item:
            found.append(item["Chapter"])
            found += chapters(item["Chapter"]["sub_items"])
    return found


def main() -> None:
    """Reads the book from standard input, and writes it to standard output."""
    if sys.argv[1:2] == ["supports"]:
        return
    context, book = json.load(sys.stdin)
    root, config = pathlib.Path(context["root"]), context["config"]
    repository = config["output"]["html"]["git-repository-url"]
    links = Links(root, config["book"]["src"], repository)
    note = (
        f'\n\n<footer class="version">These pages describe meshprobe {version(root)}, which is in development '
        f'(<a href="{repository}/blob/main/CHANGELOG.md">changes</a>).</footer>\n'
    )
    for chapter in chapters(book.get("items") or book.get("sections")):
        if chapter["source_path"]:
            chapter["content"] = links.rewrite(chapter["source_path"], chapter["content"]) + note
    json.dump(book, sys.stdout)


if __name__ == "__main__":
    main()

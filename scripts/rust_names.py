"""The public names of the crate `calipers` are those of fixtures/public_names.txt.

    python scripts/rust_names.py target/doc              compares; fails if a name came, went or changed
    python scripts/rust_names.py target/doc --update     writes the table anew

The names and declarations are read from the pages of `cargo doc`, which any stable Rust writes. Each
line of the table has the path of a name and its declaration. Versions of Rust may print declarations
in other ways, so they, and the traits that are implemented, are compared only by the version that
the first line of the table has.

A change on purpose is a line in CHANGELOG.md. The table is not written anew if its newest section does
not have the names that came or went, in backticks.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

from changelog import unmentioned

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "fixtures" / "public_names.txt"
CHANGELOG = ROOT / "CHANGELOG.md"
CRATE = "calipers"
# Without an end tag in HTML.
EMPTY = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
# Members of an item that its declaration leaves out, by the beginnings of their anchors.
MEMBERS = ("method.", "associatedconstant.", "associatedtype.")


@dataclass
class Node:
    """An element of a page."""

    tag: str
    attributes: dict[str, str]
    children: list[Node | str] = field(default_factory=list)

    def all(self) -> Iterator[Node]:
        """This element, and those in it."""
        yield self
        for child in self.children:
            if isinstance(child, Node):
                yield from child.all()

    def has_class(self, name: str) -> bool:
        """Is it of this class?"""
        return name in self.attributes.get("class", "").split()

    def by_id(self, name: str) -> Node | None:
        """The element in it with this anchor."""
        return next((node for node in self.all() if node.attributes.get("id") == name), None)

    def text(self) -> str:
        """Its text, with single spaces: how lines are broken is no part of a declaration."""
        return re.sub(r"\s+", " ", "".join(self.pieces())).strip()

    def pieces(self) -> Iterator[str]:
        """Its text, without what a reader opens or what links to itself."""
        # `§` links to the anchor; headings of what is folded, and tooltips, are no declarations.
        if self.tag == "summary" or self.has_class("anchor") or self.has_class("tooltip"):
            return
        if self.tag == "div":  # an attribute on a line of its own
            yield " "
        for child in self.children:
            yield from child.pieces() if isinstance(child, Node) else [child]
        if self.tag == "div":
            yield " "


class Page(HTMLParser):
    """Reads the elements of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Node("root", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(node)
        if tag not in EMPTY:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        places = [place for place, node in enumerate(self.open) if node.tag == tag]
        if places:
            del self.open[places[-1] :]

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parsed(html: str) -> Node:
    """The elements of a page."""
    page = Page()
    page.feed(html)
    return page.root


def items(overview: Node) -> list[tuple[str, str]]:
    """The path of every public item, and the page about it."""
    lists = [node for node in overview.all() if node.has_class("all-items")]
    links = [node for found in lists for node in found.all() if node.tag == "a"]
    return [(f"{CRATE}::{link.text()}", link.attributes["href"]) for link in links]


def declarations(path: str, page: Node) -> Iterator[tuple[str, str]]:
    """An item and its members, each with its declaration, and the traits that it implements."""
    declared = next((node for node in page.all() if node.has_class("item-decl")), None)
    # A comment in it, which says that fields are private, is not part of the declaration.
    yield path, re.sub(r"\s*/\*.*?\*/", "", declared.text()).strip() if declared else ""
    if own := page.by_id("implementations-list"):
        for node in own.all():
            anchor = node.attributes.get("id", "")
            heading = next((part for part in node.all() if part.has_class("code-header")), None)
            if node.tag == "section" and anchor.startswith(MEMBERS) and heading:
                yield f"{path} {anchor.split('.', 1)[1]}", heading.text()
    if traits := page.by_id("trait-implementations-list"):
        for node in traits.all():
            heading = next((part for part in node.all() if part.has_class("code-header")), None)
            # The compiler's own traits are not written by anyone.
            if node.tag == "section" and node.has_class("impl") and heading and "Structural" not in heading.text():
                yield f"{path} {re.sub(r' where .*', '', heading.text())}", ""


def made(docs: Path) -> dict[str, str]:
    """The whole table, by paths."""
    folder = docs / CRATE
    if not (folder / "all.html").is_file():
        raise SystemExit(f"{folder} has no pages; run cargo doc --no-deps -p {CRATE}")
    table: dict[str, str] = {}
    for path, address in items(parsed((folder / "all.html").read_text(encoding="utf-8"))):
        table |= dict(declarations(path, parsed((folder / address).read_text(encoding="utf-8"))))
    return dict(sorted(table.items()))


def missing_lines(paths: set[str], changelog: str) -> list[str]:
    """Items and members that came or went, and of which the newest section of the changelog says nothing.

    An item stands for its members, and implementations of traits need no line.
    """
    names = {}
    for path in paths:
        item, _, member = path.partition(" ")
        if not member or (item not in paths and not member.startswith("impl")):
            names[path] = member or item.rsplit("::", 1)[1]
    missing = unmentioned(names.values(), changelog)
    return sorted(path for path, name in names.items() if name in missing)


def written(table: dict[str, str], version: str) -> str:
    """The table as text."""
    return "".join(f"{line}\n" for line in [version, *(f"{path}\t{what}".rstrip() for path, what in table.items())])


def read(text: str) -> tuple[dict[str, str], str]:
    """The table of a text, and the version of Rust that wrote it."""
    version, *lines = text.splitlines()
    return dict((*line.split("\t", 1), "")[:2] for line in lines), version


def faults(table: dict[str, str], kept: dict[str, str], *, same_version: bool) -> list[str]:
    """One line for each name that came, went or has another declaration."""
    if not same_version:
        table, kept = ({path: what for path, what in of.items() if " impl" not in path} for of in (table, kept))
    found = [f"new: {path}" for path in table if path not in kept]
    found += [f"gone: {path}" for path in kept if path not in table]
    if same_version:
        changed = [path for path in table if path in kept and table[path] != kept[path]]
        found += [f"changed: {path}\n  was {kept[path]}\n  is  {table[path]}" for path in changed]
    return found


def main() -> None:
    """Compare, or write anew."""
    docs, update = Path(sys.argv[1]), "--update" in sys.argv
    rustdoc = subprocess.run(["rustdoc", "--version"], check=True, capture_output=True, text=True).stdout
    version = " ".join(rustdoc.split()[:2])
    table = made(docs)
    kept, of_version = read(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else ({}, version)
    if update:
        if missing := missing_lines(set(table) ^ set(kept), CHANGELOG.read_text(encoding="utf-8")) if kept else []:
            sys.exit("\n".join(["the newest section of CHANGELOG.md lacks names that came or went:", *missing]))
        TABLE.write_text(written(table, version), encoding="utf-8")
        return
    if found := faults(table, kept, same_version=version == of_version):
        sys.exit("\n".join([*found, "if that is meant, write it in CHANGELOG.md and run make public-names"]))
    print(f"{len(table)} public names and implementations of traits are as they were")


if __name__ == "__main__":
    main()

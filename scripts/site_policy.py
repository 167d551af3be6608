"""Check what every page of the built site may do: load its own files, run known scripts, link to the web.

python scripts/site_policy.py SITE [--update]

Scripts within pages are those of the theme. `scripts/site_scripts.txt` has their digests, and
`--update` writes it anew: look at the difference after the theme was updated.
"""

from __future__ import annotations

import hashlib
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

KNOWN = Path(__file__).with_name("site_scripts.txt")
# Attributes that make a browser fetch something, and the elements where they do.
LOADS = {
    "src": {"script", "img", "iframe", "audio", "video", "source", "embed", "input", "track"},
    "href": {"link", "image", "use"},
    "data": {"object"},
    "srcset": {"img", "source"},
    "poster": {"video"},
}
# Relations of `link` that name another page and fetch nothing.
NAMES_ONLY = {"canonical", "next", "prev", "alternate", "license", "author"}
LINKS = re.compile(r"^(https?://|mailto:|[^:]*$|[^:]*[/#?])", re.IGNORECASE)
ELSEWHERE = re.compile(r"^\s*([a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)
# Scripts that are data are not run.
DATA = {"application/json", "application/ld+json", "text/template"}
# What the theme writes by the depth and the version of a page.
VARYING = (
    (re.compile(r'new URL\("[^"]*"'), 'new URL("BASE"'),
    (re.compile(r'"base": "[^"]*"'), '"base": "BASE"'),
)


class Page(HTMLParser):
    """Collects the faults of a page and the digests of the scripts within it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[str] = []
        self.digests: set[str] = set()
        self.script: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.faults += [f"<{tag} {name}>" for name in attributes if name.startswith("on")]
        names_only = tag == "link" and set(attributes.get("rel", "").split()) <= NAMES_ONLY
        for name, elements in LOADS.items():
            address = attributes.get(name, "")
            if (
                tag in elements
                and not names_only
                and ELSEWHERE.match(address)
                and not address.startswith("data:image/")
            ):
                self.faults.append(f"<{tag} {name}={address!r}> loads from elsewhere")
        if tag in ("a", "area", "form"):
            address = attributes.get("href", attributes.get("action", ""))
            if not LINKS.match(address):
                self.faults.append(f"<{tag}> leads to {address!r}")
        if tag == "script" and "src" not in attributes and attributes.get("type", "").lower() not in DATA:
            self.script = []

    def handle_data(self, data: str) -> None:
        if self.script is not None:
            self.script.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "script" and self.script is not None:
            text = "".join(self.script)
            for pattern, name in VARYING:
                text = pattern.sub(name, text)
            self.digests.add(hashlib.sha256(text.encode()).hexdigest())
            self.script = None


def read(html: str) -> Page:
    """A page that is read to its end."""
    page = Page()
    page.feed(html)
    page.close()
    return page


def main(arguments: list[str]) -> int:
    site, update = Path(arguments[0]), "--update" in arguments
    pages = {path.relative_to(site): read(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    if not pages:
        print(f"{site} has no page: make docs")
        return 2
    digests = set[str]().union(*(page.digests for page in pages.values()))
    if update:
        KNOWN.write_text("".join(f"{digest}\n" for digest in sorted(digests)), encoding="utf-8")
    known = set(KNOWN.read_text(encoding="utf-8").split())
    faults = [f"{path}: {fault}" for path, page in pages.items() for fault in page.faults]
    faults += [
        f"{path}: a script that is not known, {digest}"
        for path, page in pages.items()
        for digest in sorted(page.digests - known)
    ]
    print("\n".join([*faults, f"{len(pages)} pages, {len(digests)} scripts within them, {len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The reference has every public name once, its links lead somewhere, and stale pages are seen."""

from __future__ import annotations

import re
from pathlib import Path

import api_reference
import calipers

PAGES = api_reference.pages()


def headings(page: str) -> list[str]:
    """Anchors as GitHub makes them."""
    found = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found]


def test_every_public_name_is_explained_once() -> None:
    names = [name for page in api_reference.public().values() for name in page]
    assert sorted(names) == sorted(name for name in calipers.__all__ if not name.startswith("__"))
    for page in PAGES.values():
        anchors = headings(page)
        assert len(anchors) == len(set(anchors)), anchors


def test_links_lead_to_headings() -> None:
    for here, page in PAGES.items():
        for there, anchor in re.findall(r"\]\(([\w.-]*)#([\w-]+)\)", page):
            assert anchor in headings(PAGES[there or here]), (here, there, anchor)


def test_text_is_no_markup_by_chance() -> None:
    links = api_reference.Links({"ls-ece": ["ls_ece"]})
    assert links.text("2 v - mean(v*) of `ls_ece` and ``n * 2``", "ls-ece") == (
        r"2 v - mean(v\*) of [`ls_ece`](#ls_ece) and `n * 2`"
    )


def test_stale_pages_are_named(tmp_path: Path) -> None:
    assert api_reference.main([], tmp_path) == 0
    assert api_reference.main(["--check"], tmp_path) == 0
    (tmp_path / "more.md").touch()
    (tmp_path / "ls-ece.md").write_text("old", encoding="utf-8")
    assert api_reference.stale(PAGES, tmp_path) == ["ls-ece.md", "more.md"]
    assert api_reference.main([], tmp_path) == 0
    assert api_reference.main(["--check"], tmp_path) == 0

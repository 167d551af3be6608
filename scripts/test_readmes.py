"""Pages that PyPI and crates.io show have no folder around them, so their links must have a host."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MANIFESTS = ["pyproject.toml", *(str(path.relative_to(ROOT)) for path in ROOT.glob("crates/*/*.toml"))]
README = re.compile(r'^readme = "([^"]+)"$', re.MULTILINE)
SHOWN = sorted(
    {
        str((ROOT / manifest).parent.joinpath(found).resolve().relative_to(ROOT))
        for manifest in MANIFESTS
        for found in README.findall((ROOT / manifest).read_text(encoding="utf-8"))
    }
)
LINK = re.compile(r"\]\(([^)\s]+)|^\[[^\]]+\]: (\S+)", re.MULTILINE)


def test_every_registry_has_a_page() -> None:
    assert "python/README.md" in SHOWN and len(SHOWN) == 5


@pytest.mark.parametrize("readme", SHOWN)
def test_links_have_a_host(readme: str) -> None:
    links = [inline or named for inline, named in LINK.findall((ROOT / readme).read_text(encoding="utf-8"))]
    assert [link for link in links if not link.startswith(("https://", "#"))] == []

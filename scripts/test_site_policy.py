"""site_policy.py must find what a page may not do, and nothing else."""

from __future__ import annotations

import pytest
import site_policy


@pytest.mark.parametrize(
    "html",
    [
        '<script src="https://example.org/a.js"></script>',
        '<script src="//example.org/a.js"></script>',
        '<link rel="stylesheet" href="https://example.org/a.css">',
        '<img src="http://example.org/a.png">',
        '<img src="a.png" onerror="alert(1)">',
        '<a href="javascript:alert(1)">',
        '<a href=" javascript:alert(1)">',
        '<a href="data:text/html,x">',
        '<form action="javascript:alert(1)">',
        '<iframe src="data:text/html,x">',
        "<body onload=alert(1)>",
    ],
)
def test_what_a_page_may_not_do_is_found(html: str) -> None:
    assert len(site_policy.read(html).faults) == 1


@pytest.mark.parametrize(
    "html",
    [
        '<script src="../assets/a.js"></script>',
        '<link rel="canonical" href="https://example.org/">',
        '<img src="data:image/svg+xml,x">',
        '<a href="https://example.org/">',
        '<a href="../guide/#a:b">',
        '<a href="#calipers.assess">',
        '<a href="mailto:a@example.org">',
        "<p>javascript:alert(1) &lt;script&gt;",
    ],
)
def test_what_a_page_may_do_is_no_fault(html: str) -> None:
    page = site_policy.read(html)
    assert page.faults == [] and page.digests == set()


def test_scripts_within_pages_are_known_by_their_digest() -> None:
    def digests(text: str) -> set[str]:
        return site_policy.read(f"<script>{text}</script>").digests

    assert len(digests("alert(1)")) == 1
    assert digests("alert(1)") != digests("alert(2)")
    assert digests('a=new URL(".",location)') == digests('a=new URL("../..",location)')
    assert site_policy.read('<script type="application/json">{"a": 1}</script>').digests == set()

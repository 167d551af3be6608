"""The page from Python: its numbers are those of the functions, and what is asked wrongly is refused."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import calipers as cal
import numpy as np
import pytest
from cases import Doubles

HOSTILE = "<script>alert(1)</script>"


def rows(n: int = 400) -> tuple[Doubles, Doubles]:
    rng = np.random.default_rng(8)
    p = rng.uniform(0.01, 0.99, n)
    return (rng.uniform(size=n) < p**1.4).astype(float), p


class Tags(HTMLParser):
    """Counts tags, and fails where they do not nest."""

    VOID = frozenset({"meta", "input", "br", "hr", "img", "link"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 (the parser's)
        self.seen.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def tags(html: str) -> list[str]:
    parser = Tags()
    parser.feed(html)
    assert not parser.open
    return parser.seen


def test_figures_are_those_of_assess() -> None:
    y, p = rows()
    page = cal.report(y, p, sigma=0.3, n_resamples=200)
    found = cal.assess(y, p, sigma=0.3, n_resamples=200)
    assert found.sentence in page.html.replace("&lt;", "<")
    assert tags(page.html).count("html") == 1
    assert re.search(r"(?:src|href)=\"?https?:", page.html) is None


def test_models_and_groups_by_name_are_shown_and_not_run() -> None:
    y, p = rows()
    names = [HOSTILE if row % 2 else "b" for row in range(len(y))]
    page = cal.report(y, {HOSTILE: p, "calm": 0.5 * p + 0.25}, groups=names, by=HOSTILE, title=HOSTILE, n_resamples=100)
    assert HOSTILE not in page.html
    assert "&lt;script&gt;alert(1)" in page.html
    assert tags(page.html).count("script") == tags(cal.report(y, p, n_resamples=100).html).count("script")
    assert HOSTILE not in page._repr_html_() and "sandbox" in page._repr_html_()


def test_a_sketch_has_a_page_as_rows_do() -> None:
    y, p = rows()
    sketch = cal.Sketch(resolution=14, n_bins=[15]).update(y, p)
    page = cal.report(sketch, sigma=0.3, n_resamples=100)
    assert f"{float(cal.ls_ece(y, p, sigma=0.3)):.4f}"[:6] in page.html
    both = cal.report({"a": sketch, "b": sketch}, sigma=0.3, n_resamples=100)
    assert both.title == "a, b"


def test_rows_of_several_classes_with_missing_groups_and_rows_left_out() -> None:
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(4), 300)
    y = rng.integers(0, 4, 300)
    p[3] = np.nan
    groups = np.array(["x", "y", None] * 100, dtype=object)
    page = cal.report(y, p, groups=groups, invalid="count", n_resamples=100)
    assert "(none)" in page.html and "class" in page.html


def test_files_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    y, p = rows()
    page = cal.report(y, p, n_resamples=100)
    assert page.save(tmp_path / "report.html").read_text(encoding="utf-8") == page.html
    charts = page.save_charts(tmp_path / "charts")
    assert charts and all(chart.read_text(encoding="utf-8").startswith("<svg") for chart in charts)
    assert all(chart.name.count(".svg") == 1 for chart in charts)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        page.save(tmp_path / "nowhere" / "report.html")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        page.save(tmp_path / "folder")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["charts", "folder", "report.html"]


def test_what_is_asked_wrongly_is_refused() -> None:
    y, p = rows(20)
    sketch = cal.Sketch().update(y, p)
    with pytest.raises(TypeError, match="outcomes must come with y_prob"):
        cal.report(y)
    with pytest.raises(TypeError, match="y_prob must be left out"):
        cal.report(sketch, p)
    with pytest.raises(TypeError, match="groups is an option of rows"):
        cal.report(sketch, groups=["a"])
    with pytest.raises(TypeError, match="the name of a model must be text"):
        cal.report(y, {1: p})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="by must be text"):
        cal.report(y, p, groups=["a"] * 20, by=3)  # type: ignore[arg-type]
    with pytest.raises(cal.CalipersError, match="groups must have"):
        cal.report(y, p, groups=["a"])
    with pytest.raises(cal.CalipersError, match="at least one prediction"):
        cal.report(y, {})
    with pytest.raises(cal.CalipersError, match="level"):
        cal.report(y, p, level=2.0)
    with pytest.raises(cal.CalipersError, match="probability in row 1"):
        cal.report(y, p * 3)

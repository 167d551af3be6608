"""The documentation site in a real browser: `make docs` builds it before."""

from __future__ import annotations

import functools
import http.server
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright not installed")

ROOT = Path(__file__).parents[2]
SITE = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "site"
PAGES = (
    "",
    "quickstart/",
    "guide/calibrated/",
    "examples/",
    "api/ls-ece/",
    "cli/",
    "theory/",
    "faq/",
    "measures/",
    "studies/atlas/",
)
WIDTHS = (375, 1280)

pytestmark = [
    pytest.mark.skipif(not (SITE / "index.html").is_file(), reason=f"{SITE} not built: make docs"),
]


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without a line for each."""

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The site, served on this machine."""
    handler = functools.partial(Quiet, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


class Watched:
    """A page that is open, with the problems that the browser reported and the requests that it made."""

    def __init__(self, browser: Any, address: str, path: str, width: int = 1280, scheme: str = "light") -> None:
        self.address = address
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("response", self.check_response)
        self.page.goto(address + path)
        self.page.wait_for_load_state("networkidle")

    def check_response(self, response: Any) -> None:
        if response.status >= 400:
            self.problems.append(f"{response.status} {response.url}")

    def screenshot(self, name: str) -> None:
        if folder := os.environ.get("CALIPERS_SCREENSHOTS"):
            self.page.screenshot(path=f"{folder}/{name}.png")

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()
        assert self.problems == []
        own = (self.address, "blob:", "data:")
        assert [url for url in self.requests if not url.startswith(own)] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("path", PAGES)
def test_pages_fit_the_window(address: str, browser: Any, path: str, width: int, scheme: str) -> None:
    with Watched(browser, address, path, width, scheme) as watched:
        page = watched.page
        widths = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert widths[0] <= widths[1], (path, widths)
        watched.screenshot(f"{path.replace('/', '-') or 'home-'}{width}-{scheme}")
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        light = sum(map(float, re.findall(r"[\d.]+", paper)[:3])) > 384
        assert light == (scheme == "light"), paper
        broken = page.evaluate("[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)")
        assert broken == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_search_finds_pages(address: str, browser: Any, width: int, scheme: str) -> None:
    with Watched(browser, address, "", width, scheme) as watched:
        page = watched.page
        if width < 1220:
            page.locator("label.md-header__button[for='__search']").click()
        else:
            page.locator("input.md-search__input").click()
        # The field takes letters once it is open.
        page.locator("input.md-search__input:focus").wait_for()
        page.wait_for_timeout(500)
        page.keyboard.type("noise floor", delay=20)
        results = page.locator(".md-search-result__item a")
        results.first.wait_for(state="visible")
        assert results.count() > 3
        watched.screenshot(f"search-{width}-{scheme}")
        results.first.click()
        page.wait_for_load_state("networkidle")
        assert "noise floor" in page.locator("article").inner_text().lower()


def test_a_reader_switches_between_light_and_dark(address: str, browser: Any) -> None:
    with Watched(browser, address, "") as watched:
        page = watched.page
        seen = set()
        for _ in range(3):
            page.locator("form[data-md-component='palette'] label:visible").click()
            seen.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert len(seen) == 2


@pytest.mark.parametrize("path", ["theory/", "faq/"])
def test_formulas_are_typeset(address: str, browser: Any, path: str) -> None:
    with Watched(browser, address, path) as watched:
        page = watched.page
        n_formulas = page.locator(".arithmatex").count()
        assert n_formulas > 0
        page.locator(".katex").first.wait_for()
        assert page.locator(".arithmatex > .katex, .arithmatex > .katex-display").count() == n_formulas
        assert page.locator(".katex-error").count() == 0
        assert page.evaluate("document.fonts.check('16px KaTeX_Main')")


def test_the_reference_has_completed_docstrings(address: str, browser: Any) -> None:
    with Watched(browser, address, "api/ls-ece/") as watched:
        page = watched.page
        text = page.locator("article").inner_text()
        for word in ("sigma", "sample_weight", "from_logits", "gaussian", "sum_tolerance"):
            assert word in text
        assert "<rows>" not in text and "RowOptions]" not in text
        link = page.locator("article a[href$='#calipers.assess']").first
        link.click()
        page.wait_for_load_state("networkidle")
        assert page.url.endswith("api/inference/#calipers.assess")

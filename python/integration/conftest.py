"""The browser that tests of pages share: Playwright runs one at a time in a process."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's Chromium, without a window and without services of its own."""
    if not CHROMIUM:
        pytest.skip("no chromium: apt-get install chromium, or set CHROMIUM")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright not installed")
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=CHROMIUM, headless=True, args=arguments)
        yield chromium
        chromium.close()

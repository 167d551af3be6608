"""The page of `calipers monitor --report` in a real browser: layout, charts, keys and safety."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api", reason="playwright not installed")

from test_report import CALIPERS, HOSTILE, OVERLAPS, WIDTHS, Watched

pytestmark = [
    pytest.mark.skipif(not CALIPERS.is_file(), reason=f"{CALIPERS} not built: make build"),
]


def sketch(rows: Path, to: Path, *options: str) -> None:
    subprocess.run([CALIPERS, "sketch", rows, "-o", to, *options], check=True, capture_output=True)


@pytest.fixture(scope="session")
def monitors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A change after 40 windows, a calm stream, and groups with hostile names."""
    folder = tmp_path_factory.mktemp("monitor")
    rng = np.random.default_rng(3)
    for name, n_windows, groups in (("change", 70, 1), ("calm", 30, 1), ("groups", 12, 4)):
        (folder / name).mkdir()
        for number in range(n_windows):
            h = rng.normal(-1, 1.5, 200 * groups)
            group = np.arange(h.size) % groups
            off = 0.8 * ((number >= 40) if name == "change" else (name == "groups") * (group == 2))
            y = rng.random(h.size) < 1 / (1 + np.exp(-(h + off)))
            rows = folder / "rows.csv"
            named = [HOSTILE.replace('"', '""') if each == 3 else f"group {each}" for each in group]
            lines = [f'{p},{int(o)},"{g}"' for p, o, g in zip(1 / (1 + np.exp(-h)), y, named, strict=True)]
            rows.write_text("prob,label,kind\n" + "\n".join(lines) + "\n")
            ending, options = ("parquet", ("--by", "kind")) if groups > 1 else ("calipers", ())
            sketch(rows, folder / name / f"2026-01-24T{number:03}.{ending}", *options)
        command = [CALIPERS, "monitor", folder / name, "--report", folder / f"{name}.html", "--n-resamples", "50"]
        run = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        assert run.returncode == (0 if name == "calm" else 1), run.stderr
    return {name: folder / f"{name}.html" for name in ("change", "calm", "groups")}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["change", "calm", "groups"])
def test_the_layout_holds(monitors: dict[str, Path], browser: Any, name: str, width: int, scheme: str) -> None:
    with Watched(browser, monitors[name], width, scheme) as watched:
        page = watched.page
        widths = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert widths[0] <= widths[1], f"{name} at {width}: {widths}"
        assert page.evaluate(OVERLAPS) == [], f"{name} at {width}"
        folder = os.environ.get("CALIPERS_SCREENSHOTS")
        if folder:
            page.screenshot(path=f"{folder}/monitor-{name}-{width}-{scheme}.png", full_page=True)


def test_the_alarm_and_its_onset_are_read_from_the_page(monitors: dict[str, Path], browser: Any) -> None:
    with Watched(browser, monitors["change"]) as watched:
        page = watched.page
        assert page.locator(".sentence").inner_text().startswith("Alarm at 2026-01-24T04")
        found = json.loads(page.locator("#calipers-data").text_content())["monitors"][0]
        assert "2026-01-24T038" <= found["onset"] <= "2026-01-24T042"
        page.locator("[data-chart='evidence-0'] .plot").first.focus()
        page.keyboard.press("End")
        assert page.locator("#tip").is_visible() and "e-value" in page.locator("#tip").inner_text()
    with Watched(browser, monitors["calm"]) as watched:
        assert watched.page.locator(".sentence").inner_text() == "No alarm."


def test_groups_with_an_alarm_come_first_and_names_are_only_text(monitors: dict[str, Path], browser: Any) -> None:
    with Watched(browser, monitors["groups"]) as watched:
        page = watched.page
        assert page.locator(".sentence").inner_text() == "Alarm in 1 of 4 groups."
        assert page.locator("#groups h3").first.inner_text() == "group 2"
        assert HOSTILE in page.locator("#groups").inner_text()

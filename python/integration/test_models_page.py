"""The page of many models in a real browser: layout, hover, keys, filters, table and safety.

The page is the one of `crates/calipers-report/examples/models_page.rs`: 319 made-up models in 20
domains, with hostile names, zeros, equal values and a model without a value.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright not installed")

from test_report import OVERLAPS, ROOT, WIDTHS, Watched

pytestmark = [pytest.mark.skipif(not shutil.which("cargo"), reason="cargo not installed")]

SHOWN = "[...document.querySelectorAll('#models-table tbody tr')].filter(row => !row.hidden)"
# The centre of the mark of a model on the screen.
CENTRE = """name => {
  const rows = [...document.querySelectorAll('#models-table tbody tr')];
  const { place } = rows.find(row => row.cells[0].textContent === name).dataset;
  const plot = [...document.querySelectorAll('.scatter')].find(plot => plot.offsetParent);
  const box = plot.querySelector(`[data-place='${place}']`).getBoundingClientRect();
  return [box.left + box.width / 2, box.top + box.height / 2];
}"""


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the example."""
    command = ["cargo", "run", "--quiet", "--profile", "fast", "-p", "calipers-report", "--example", "models_page"]
    made = subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    page = tmp_path_factory.mktemp("models") / "models.html"
    page.write_bytes(made.stdout)
    return page


def read(page: Any) -> list[dict[str, Any]]:
    """The models in the JSON of the page."""
    return json.loads(page.locator("#calipers-data").text_content())["models"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [*WIDTHS, 700])
def test_the_layout_holds(models: Path, browser: Any, width: int, scheme: str) -> None:
    with Watched(browser, models, width, scheme) as watched:
        page = watched.page
        for axes in ("linear", "log"):
            page.locator(f"#axes-{axes}").check(force=True)
            widths = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            assert widths[0] <= widths[1], f"at {width}: {widths}"
            assert page.evaluate(OVERLAPS) == [], f"at {width}, {axes}"
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, paper[4:-1].split(","))) > 384) == (scheme == "light"), paper
        folder = os.environ.get("CALIPERS_SCREENSHOTS")
        if folder:
            page.screenshot(path=f"{folder}/models-{width}-{scheme}.png", full_page=True)


@pytest.mark.parametrize("axes", ["log", "linear"])
def test_hovering_a_mark_shows_the_values_of_its_model(models: Path, browser: Any, axes: str) -> None:
    with Watched(browser, models) as watched:
        page = watched.page
        page.locator(f"#axes-{axes}").check(force=True)
        page.locator(f".scatter.of-{axes}").scroll_into_view_if_needed()
        tip = page.locator("#tip")
        assert not tip.is_visible()
        for name in ("y is zero", "both zero", "\u202eنموذج من اليمين"):
            if axes == "linear" and "zero" in name:
                continue  # many marks are near 0 there
            page.mouse.move(*page.evaluate(CENTRE, name))
            assert tip.locator("p").text_content() == name
            model = next(model for model in read(page) if model["name"] == name)
            assert model["group"] in tip.inner_text() and f"{model['n']:,}" in tip.inner_text()
            assert f"{model['details']['Noise floor']:.3g}"[:5] in tip.inner_text()
            assert page.locator(f".scatter.of-{axes} .ring").get_attribute("visibility") == "visible"
        box = page.locator("h1").bounding_box()
        page.mouse.move(box["x"], box["y"])
        assert not tip.is_visible()


def test_the_tip_stays_inside_the_window(models: Path, browser: Any) -> None:
    for width in (375, 1024):
        with Watched(browser, models, width) as watched:
            page = watched.page
            page.locator(".scatter.of-log").scroll_into_view_if_needed()
            for name in ("both zero", "x" * 10_000, "y is zero", "x is zero"):
                page.mouse.move(*page.evaluate(CENTRE, name))
                box = page.locator("#tip").bounding_box()
                assert box["x"] >= 0 and box["x"] + box["width"] <= width, (name, width, box)
                assert box["y"] >= 0 and box["y"] + box["height"] <= 900, (name, width, box)


def test_arrow_keys_go_from_model_to_model(models: Path, browser: Any) -> None:
    with Watched(browser, models) as watched:
        page = watched.page
        name = page.locator("#tip p")
        known = [model for model in read(page) if model["x"] is not None]
        page.locator(".scatter.of-log").focus()
        page.keyboard.press("End")
        assert name.text_content() == max(known, key=lambda model: model["x"])["name"]
        page.keyboard.press("ArrowRight")
        assert name.text_content() == max(known, key=lambda model: model["x"])["name"]
        page.keyboard.press("ArrowLeft")
        assert name.text_content() == sorted(known, key=lambda model: model["x"])[-2]["name"]
        page.keyboard.press("Home")
        assert name.text_content() == "x is zero"
        # Down to the lowest.
        for _ in range(len(known)):
            page.keyboard.press("ArrowDown")
        assert name.text_content() == "y is zero"
        page.keyboard.press("Escape")
        assert not page.locator("#tip").is_visible()
        # From no model, all models are reached along an axis, each once.
        page.keyboard.press("Home")
        page.keyboard.press("ArrowLeft")
        seen = set()
        for _ in range(len(known)):
            seen.add(page.locator(".scatter.of-log .ring").evaluate("e => e.getAttribute('cx') + e.getAttribute('cy')"))
            page.keyboard.press("ArrowRight")
        # Two pairs of models have equal values.
        assert len(known) - 4 <= len(seen) <= len(known)


def test_a_name_filters_the_chart_and_the_table(models: Path, browser: Any) -> None:
    with Watched(browser, models) as watched:
        page = watched.page
        n = len(read(page))
        find = page.locator("#find")
        find.fill("ForEst")
        found = page.evaluate(f"{SHOWN}.map(row => row.cells[0].textContent)")
        assert len(found) == 62 and all("forest" in name for name in found)
        assert page.locator("#found").inner_text() == f"62 of {n} models"
        assert page.locator(".scatter.of-log .mark:not(.faint)").count() == 62
        # Words may be in the name or in the domain, in any order.
        find.fill("medicine forest")
        both = page.evaluate(f"{SHOWN}.map(row => row.cells[1].textContent.trim())")
        assert both and set(both) == {"medicine"}
        find.fill("<script>alert(1)")
        assert page.evaluate(f"{SHOWN}.length") == 1
        find.fill("no such model")
        assert page.locator("#found").inner_text() == f"0 of {n} models"
        page.locator(".scatter.of-log").focus()
        page.keyboard.press("ArrowRight")
        assert not page.locator("#tip").is_visible()
        find.fill("")
        assert page.evaluate(f"{SHOWN}.length") == n
        assert page.locator(".mark.faint").count() == 0


def test_domains_are_hidden_shown_alone_and_emphasised(models: Path, browser: Any) -> None:
    with Watched(browser, models) as watched:
        page = watched.page
        all_models = read(page)
        entry = page.locator(".groups li").nth(0)
        domain = entry.locator(".name").inner_text()
        of_domain = sum(model["group"] == domain for model in all_models)
        assert (
            int(entry.locator(".n").inner_text())
            == of_domain
            == max(sum(model["group"] == other["group"] for model in all_models) for other in all_models)
        )
        entry.locator("input").uncheck()
        assert page.evaluate(f"{SHOWN}.length") == len(all_models) - of_domain
        assert page.locator(".scatter.of-log .mark.gone").count() == of_domain
        assert not page.locator(".scatter.of-log .mark.gone").first.is_visible()
        page.locator("#all-groups").click()
        assert page.evaluate(f"{SHOWN}.length") == len(all_models)
        assert not page.locator("#all-groups").is_visible()
        entry.hover()
        assert page.locator(".scatter.of-log .mark.strong").count() == of_domain
        assert page.locator(".scatter.of-log .mark.faint").count() == len(all_models) - 1 - of_domain
        page.locator("h1").hover()
        assert page.locator(".mark.strong, .mark.faint").count() == 0
        for n_shown in (of_domain, len(all_models)):
            entry.hover()
            entry.locator(".only").click()
            assert page.evaluate(f"{SHOWN}.length") == n_shown
        # A name and a domain together.
        entry.locator(".only").click()
        page.locator("#find").fill("gpt")
        expected = sum(model["group"] == domain and "gpt" in model["name"] for model in all_models)
        assert page.evaluate(f"{SHOWN}.length") == expected


def test_the_table_is_sorted_by_any_column(models: Path, browser: Any) -> None:
    with Watched(browser, models) as watched:
        page = watched.page
        heads = page.locator("#models-table thead th")
        columns = heads.all_inner_texts()
        assert [column.split("\n")[0].strip() for column in columns] == [
            "Model", "Domain", "Rows", "ECE, 15 bins", "LS-ECE", "Noise floor", "95 % interval", "Verdict",
        ]  # fmt: skip
        for column in (2, 3, 4, 5):
            values = f"{SHOWN}.map(row => Number(row.cells[{column}].dataset.value))"
            heads.nth(column).locator("button").click()
            assert heads.nth(column).get_attribute("aria-sort") == "descending"
            # The model without a value is last.
            down = [value for value in page.evaluate(values) if value == value]
            assert down == sorted(down, reverse=True) and len(down) >= 318
        # Rows that a filter hides stay hidden.
        page.locator("#find").fill("gpt")
        n_found = page.evaluate(f"{SHOWN}.length")
        heads.nth(0).locator("button").click()
        names = page.evaluate(f"{SHOWN}.map(row => row.cells[0].textContent)")
        assert names == sorted(names, reverse=True) and len(names) == n_found


def test_hostile_names_are_shown_and_do_nothing(models: Path, browser: Any) -> None:
    with Watched(browser, models) as watched:
        page = watched.page
        hostile = next(model["name"] for model in read(page) if "onerror" in model["name"])
        assert page.locator("#models-table tbody th").filter(has_text=hostile).count() == 1
        assert page.locator("img").count() == 0
        assert page.locator(".groups .name", has_text="<script>alert(3)</script>").count() == 1
        page.locator(".scatter.of-log").scroll_into_view_if_needed()
        page.locator("#find").fill("alert(1)")
        page.mouse.move(*page.evaluate(CENTRE, hostile))
        assert page.locator("#tip p").text_content() == hostile
        # A script that is inserted into the page does not run.
        page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hacked = 1\">')")
        page.wait_for_timeout(100)
        assert page.evaluate("window.hacked") is None
        watched.complaints.clear()
        watched.requests[1:] = []


def test_without_scripts_the_chart_and_the_table_are_there(models: Path, browser: Any) -> None:
    context = browser.new_context(viewport={"width": 1024, "height": 900}, java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(models.as_uri())
        assert page.locator(".scatter.of-log").is_visible()
        assert page.locator(".scatter.of-log .mark").count() == 318
        assert page.locator(".scatter.of-log .mark title").count() == 318
        assert page.locator("#models-table tbody tr:visible").count() == 319
        # What needs a script is not offered; the axes need none.
        assert not page.locator("#find").is_visible() and not page.locator(".groups input").first.is_visible()
        page.locator("#axes-linear").check(force=True)
        assert page.locator(".scatter.of-linear").is_visible() and not page.locator(".scatter.of-log").is_visible()
    finally:
        context.close()


def test_a_tap_shows_a_model(models: Path, browser: Any) -> None:
    context = browser.new_context(viewport={"width": 375, "height": 800}, has_touch=True, is_mobile=True)
    try:
        page = context.new_page()
        page.goto(models.as_uri())
        page.locator(".scatter.of-log").scroll_into_view_if_needed()
        page.touchscreen.tap(*page.evaluate(CENTRE, "y is zero"))
        assert page.locator("#tip p").text_content() == "y is zero"
        assert page.locator(".groups .only").first.is_visible()
    finally:
        context.close()


def test_a_screen_reader_finds_names_and_paper_has_chart_and_table(models: Path, browser: Any) -> None:
    with Watched(browser, models) as watched:
        page = watched.page
        for drawing in page.locator("svg[role='img']").all():
            assert drawing.locator("> title").text_content() and drawing.locator("> desc").text_content()
        assert page.locator("h1").count() == 1
        unnamed = (
            "[...document.querySelectorAll('input, button')]"
            ".filter(e => !e.closest('label') && !e.textContent.trim()).length"
        )
        assert page.evaluate(unnamed) == 0
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
        assert len(ids) == len(set(ids))
        page.emulate_media(media="print")
        box = page.locator(".scatter.of-log svg").bounding_box()
        assert box["width"] > 300 and not page.locator(".controls").is_visible()
        assert len(page.pdf()) > 10_000

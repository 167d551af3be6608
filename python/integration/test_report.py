"""The page of `calipers report` in a real browser: layout, controls, accessibility and safety."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api", reason="playwright not installed")

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
CALIPERS = Path(os.environ.get("CALIPERS", ROOT / "target" / "fast" / "calipers"))
HOSTILE = "<script>alert(1)</script>\"'--><img src=x onerror=alert(2)>"
# Names of groups that are long, or run from right to left.
STRANGE = {1: "w" * 10_000, 2: "\u202eowt puorg \u05d0\u05d1\u05d2", 4: "\x1b[31mred\x07"}
WIDTHS = (375, 1024, 1920)

pytestmark = [
    pytest.mark.skipif(not CALIPERS.is_file(), reason=f"{CALIPERS} not built: make build"),
]


def report(page: Path, *args: str | Path) -> Path:
    """Makes a page with the command."""
    command = [CALIPERS, "report", *args, "-o", page, "--n-resamples", "200"]
    subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    return page


def _earlier(folder: Path) -> Path:
    """A file of rows like those of rare.csv, of which more outcomes happen."""
    rng = np.random.default_rng(6)
    earlier = folder / "earlier.csv"
    q = 0.5 * rng.random(4000) ** 5 + 0.002
    happens = rng.random(q.size) < 1.3 * q
    np.savetxt(earlier, np.c_[q, happens], delimiter=",", header="prob,label", comments="", fmt=["%.9f", "%d"])
    return earlier


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One page of each kind.

    Several models, classes, hostile groups, a sketch, a single row, and rare events.
    """
    folder = tmp_path_factory.mktemp("report")
    cancer = EXAMPLES / "breast_cancer.csv"
    columns = ("--label", "label", "--prob", "logistic_regression", "--prob", "naive_bayes", "--prob", "mlp")
    rng = np.random.default_rng(5)
    p = rng.random(600)
    hostile = folder / "hostile.csv"
    lines = ["prob,label,kind"]
    for row, value in enumerate(p):
        group = HOSTILE if row % 3 == 0 else STRANGE.get(row % 60, f"group {row % 60}")
        lines.append(f'{value},{int(rng.random() < value**2)},"{group.replace(chr(34), chr(34) * 2)}"')
    hostile.write_text("\n".join(lines) + "\n")
    sketch = folder / "rows.calipers"
    subprocess.run([CALIPERS, "sketch", hostile, "-o", sketch], check=True, capture_output=True)
    one = folder / "one.csv"
    one.write_text("prob,label\n0.7,1\n")
    rare = folder / "rare.csv"
    q = 0.6 * rng.random(6000) ** 6 + 0.002
    happens = rng.random(q.size) < np.where(q > 0.2, 0.3 * q, 0.9 * q)
    np.savetxt(rare, np.c_[q, happens], delimiter=",", header="prob,label", comments="", fmt=["%.9f", "%d"])
    return {
        "rare": report(folder / "rare.html", rare),
        "models": report(folder / "models.html", cancer, *columns),
        "classes": report(folder / "classes.html", EXAMPLES / "digits_mlp.npz"),
        "hostile": report(folder / "hostile.html", hostile, "--by", "kind", "--title", HOSTILE),
        "sketch": report(folder / "sketch.html", sketch),
        "one": report(folder / "one.html", one),
        "drift": report(folder / "drift.html", rare, "--against", _earlier(folder)),
    }


class Watched:
    """An open page, with its console messages and requests."""

    def __init__(self, browser: Any, path: Path, width: int = 1024, scheme: str = "light", height: int = 900) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()
        assert self.complaints == []
        assert len(self.requests) == 1, self.requests


DASH = "\u2013"
NAMES = ("models", "classes", "hostile", "sketch", "one", "rare", "drift")

# The boxes of all texts of the page and its drawings: none may overlap another. Text inside a
# scrolled table is clipped to the visible part.
OVERLAPS = """() => {
  const boxes = [];
  const visible = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const style = getComputedStyle(at);
      if (style.display === "none" || style.visibility === "hidden" || style.clipPath !== "none") return false;
      if (at.tagName === "DETAILS" && !at.open && !element.closest("summary")) return false;
    }
    return true;
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const element = node.parentElement;
    if (!node.textContent.trim()) continue;
    if (["SCRIPT", "STYLE", "TITLE", "DESC", "title", "desc"].includes(element.tagName)) continue;
    if (!visible(element)) continue;
    // The bar at the top covers what scrolls below it.
    if (element.closest("nav.sticky")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const cuts = [];
    for (let at = element; at; at = at.parentElement) {
      if (at.matches(".scroll, .name, .sortable tbody th")) cuts.push(at.getBoundingClientRect());
    }
    for (const rect of range.getClientRects()) {
      let [left, top, right, bottom] = [rect.left, rect.top, rect.right, rect.bottom];
      for (const cut of cuts) {
        [left, top] = [Math.max(left, cut.left), Math.max(top, cut.top)];
        [right, bottom] = [Math.min(right, cut.right), Math.min(bottom, cut.bottom)];
      }
      // Lines of text are lower than their boxes.
      const trim = 0.2 * (bottom - top);
      if (right - left > 1 && bottom - top > 4) {
        const text = node.textContent.trim().slice(0, 40);
        boxes.push({ node, left, right, top: top + trim, bottom: bottom - trim, text });
      }
    }
  }
  const found = [];
  for (let i = 0; i < boxes.length; i++) {
    for (let j = i + 1; j < boxes.length; j++) {
      const [a, b] = [boxes[i], boxes[j]];
      // A text that is cut short has a box for what is cut, too.
      if (a.node === b.node) continue;
      const over = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      if (over > 1.5 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1.5) found.push([a.text, b.text]);
    }
  }
  return found.slice(0, 5);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", NAMES)
def test_the_layout_holds(pages: dict[str, Path], browser: Any, name: str, width: int, scheme: str) -> None:
    with Watched(browser, pages[name], width, scheme) as watched:
        page = watched.page
        for kind in ("smoothed", "binned", "corp"):
            page.locator(f"#kind-{kind}").check(force=True)
            widths = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            assert widths[0] <= widths[1], f"{name} at {width}: {widths}"
            assert page.evaluate(OVERLAPS) == [], f"{name} at {width}, {kind}"
        page.locator("#axis-logit").check(force=True)
        assert page.evaluate(OVERLAPS) == [], f"{name} at {width}, log-odds"
        page.locator("#axis-linear").check(force=True)
        folder = os.environ.get("CALIPERS_SCREENSHOTS")
        if folder:
            page.locator("#kind-smoothed").check(force=True)
            page.screenshot(path=f"{folder}/{name}-{width}-{scheme}.png", full_page=True)
        paper, ink = page.evaluate(
            "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
        )
        assert (sum(map(int, paper[4:-1].split(","))) > 384) == (scheme == "light"), (paper, ink)


@pytest.mark.parametrize("name", ["models", "classes"])
def test_the_switch_shows_one_diagram_and_the_slider_moves_it(pages: dict[str, Path], browser: Any, name: str) -> None:
    with Watched(browser, pages[name]) as watched:
        page = watched.page
        for kind in ("binned", "corp", "smoothed"):
            page.locator(f"#kind-{kind}").check(force=True)
            shown = [
                other
                for other in ("smoothed", "binned", "corp")
                if page.locator(f".panel.of-{other}").first.is_visible()
            ]
            assert shown == [kind]
        visible = (
            "[...document.querySelectorAll('svg[data-step]')]"
            ".filter(e => e.style.display !== 'none').map(e => e.dataset.step)"
        )
        slider = page.locator("#sigma")
        chosen = int(slider.get_attribute("data-chosen"))
        assert set(page.evaluate(visible)) == {str(chosen)}
        before = page.locator("#sigma-value").inner_text()
        cell = page.locator("[data-chart='smoothed-0'] tbody tr").nth(50).locator("td").nth(1)
        first = cell.text_content()
        slider.focus()
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        assert set(page.evaluate(visible)) == {str(chosen + 3)}
        assert page.locator("#sigma-value").inner_text() != before
        assert cell.text_content() != first, "the table moves along"
        page.locator("#sigma-reset").click()
        assert set(page.evaluate(visible)) == {str(chosen)}
        assert (page.locator("#sigma-value").inner_text(), cell.text_content()) == (before, first)


@pytest.mark.parametrize("name", NAMES)
def test_hovering_shows_the_numbers_of_the_json(pages: dict[str, Path], browser: Any, name: str) -> None:
    with Watched(browser, pages[name]) as watched:
        page = watched.page
        charts = json.loads(page.locator("#calipers-data").text_content())["charts"]
        tip = page.locator("#tip")
        drawn = [key for key in ("recalibration_curve-0", "recalibration_map-0") if key in charts]
        for key in ("smoothed-0", "sweep-0", "cumulative-0", "distribution-0", *drawn):
            chart = charts[key]
            step = int(page.locator("#sigma").get_attribute("data-chosen"))
            rows = chart["steps"][step] if "steps" in chart else chart["rows"]
            drawing = page.locator(f"[data-chart='{key}'] .plot:visible > svg")
            drawing.scroll_into_view_if_needed()
            box = drawing.bounding_box()
            scale = box["width"] / page.evaluate("e => e.viewBox.baseVal.width", drawing.element_handle())
            view = page.locator(f"[data-chart='{key}'] .plot:visible").get_attribute("data-view")
            at_x = chart.get("views", {}).get(view, chart["x"])
            known = [place for place, x in enumerate(at_x) if x is not None]
            for place in {known[0], known[len(known) // 2], known[-1]}:
                page.mouse.move(box["x"] + at_x[place] * scale, box["y"] + box["height"] / 3)
                assert tip.is_visible()
                # Of several points at one position, the first is shown.
                same = [rows[at] for at in known if abs(at_x[at] - at_x[place]) < 0.11]
                texts = tip.locator("b").all_text_contents()
                assert texts in [[DASH if v is None else page.evaluate("String", v) for v in row] for row in same]
                assert tip.locator("span").all_text_contents() == chart["columns"]
            page.mouse.move(2, 2)
            assert not tip.is_visible()
        plot = page.locator("[data-chart='sweep-0'] .plot")
        plot.focus()
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        assert tip.is_visible()
        page.keyboard.press("Escape")
        assert not tip.is_visible()


@pytest.mark.parametrize("width", [1280, 375])
@pytest.mark.parametrize("name", NAMES)
def test_recalibration_begins_with_its_verdict(pages: dict[str, Path], browser: Any, name: str, width: int) -> None:
    with Watched(browser, pages[name], width, height=800) as watched:
        page = watched.page
        found = json.loads(page.locator("#calipers-data").text_content())["models"][0]["recalibration"]
        section = page.locator("#recalibration-0")
        first = section.locator("h3 + p").inner_text()
        if name in ("sketch", "one"):
            assert first == f"Recalibration is not available: {found['unavailable']}."
            assert section.locator("figure").count() == 0
            return
        assert first == found["sentence"]
        assert found["verdict"] in section.locator("dd").first.inner_text()
        assert found["map"]["what"] == "calibrator"
        figures = section.locator("figure").all()
        # Of classes there is a curve, and a map of none that a chart can show.
        assert len(figures) == {"classes": 1}.get(name, 2 if found["method"] != "identity" else 0)
        for figure in figures:
            box = figure.locator(".plot:visible > svg").bounding_box()
            assert 250 < box["width"] < 460
            assert 0.9 < box["height"] / box["width"] < 1.4
        page.evaluate("document.querySelector('#axis-logit').click()")
        for figure in figures:
            assert figure.locator(".plot:visible").get_attribute("data-view") == "logit"


# What of a chart can be seen in the first screen, as a share of its height.
VISIBLE = """(element) => {
  const box = element.getBoundingClientRect();
  return Math.max(0, Math.min(box.bottom, innerHeight) - Math.max(box.top, 0)) / box.height;
}"""


@pytest.mark.parametrize("width", [1280, 375])
@pytest.mark.parametrize("name", NAMES)
def test_the_first_screen_answers(pages: dict[str, Path], browser: Any, name: str, width: int) -> None:
    with Watched(browser, pages[name], width, height=800) as watched:
        page = watched.page
        sentence = page.locator("header .sentence")
        assert page.evaluate(VISIBLE, sentence.element_handle()) == 1.0
        text = sentence.inner_text()
        if name == "rare":
            assert "% happen: probabilities are too high, most of all above " in text
        elif name == "models":
            assert "models" in text and "miscalibrat" in text
        else:
            assert text.startswith(("Predicts ", "Is ")), text
        sure = page.locator("header .sure").first
        assert page.evaluate(VISIBLE, sure.element_handle()) == 1.0
        assert "calibrated model" in sure.inner_text() or "Holm" in sure.inner_text()
        drawing = page.locator("header .plot:visible > svg")
        assert page.evaluate(VISIBLE, drawing.element_handle()) >= 0.9
        if width == 1280:
            # Beside the sentence, and not below it.
            assert drawing.bounding_box()["x"] > sentence.bounding_box()["x"] + sentence.bounding_box()["width"] - 2
        table = page.locator("table.measures").bounding_box()
        assert table["y"] > drawing.bounding_box()["y"]


@pytest.mark.parametrize("name", NAMES)
def test_a_phone_shows_the_columns_that_matter(pages: dict[str, Path], browser: Any, name: str) -> None:
    with Watched(browser, pages[name], 375) as watched:
        page = watched.page
        for table in page.locator("table.measures, table.directions, table.pairs, table.sortable").all():
            if not table.is_visible():
                continue
            widths = table.evaluate("e => [e.scrollWidth, e.closest('.scroll').clientWidth]")
            assert widths[0] <= widths[1] + 1, (name, table.get_attribute("class"), widths)


@pytest.mark.parametrize("name", ["models", "classes"])
def test_the_axes_can_be_log_odds(pages: dict[str, Path], browser: Any, name: str) -> None:
    with Watched(browser, pages[name]) as watched:
        page = watched.page
        first = page.locator("header .plot:visible")
        assert first.get_attribute("data-view") == "linear"
        page.locator("#axis-logit").check(force=True)
        assert first.get_attribute("data-view") == "logit"
        assert "log-odds" in first.text_content()
        charts = json.loads(page.locator("#calipers-data").text_content())["charts"]
        key = page.locator("header figure:visible").get_attribute("data-chart")
        first.focus()
        page.keyboard.press("End")
        page.keyboard.press("End")
        x = float(first.locator(".cursor").get_attribute("x1"))
        assert x == max(place for place in charts[key]["views"]["logit"] if place is not None)


def test_a_rare_outcome_has_a_log_scale_at_once(pages: dict[str, Path], browser: Any) -> None:
    with Watched(browser, pages["rare"]) as watched:
        plot = watched.page.locator("[data-chart='distribution-0'] .plot:visible")
        assert plot.get_attribute("data-view") == "log"
        watched.page.locator("#scale-count").check(force=True)
        assert plot.get_attribute("data-view") == "count"


@pytest.mark.parametrize("name", NAMES)
def test_charts_side_by_side_are_aligned(pages: dict[str, Path], browser: Any, name: str) -> None:
    with Watched(browser, pages[name], 1280) as watched:
        boxes = [
            plot.bounding_box() for plot in watched.page.locator(".charts:visible").first.locator(".plot:visible").all()
        ]
        assert len(boxes) == 3
        assert max(box["y"] for box in boxes) - min(box["y"] for box in boxes) <= 1
        assert max(box["width"] for box in boxes) - min(box["width"] for box in boxes) <= 1


def test_one_model_at_a_time_is_shown_and_the_links_lead_to_sections(pages: dict[str, Path], browser: Any) -> None:
    with Watched(browser, pages["models"], 1280) as watched:
        page = watched.page
        visible = "[...document.querySelectorAll('.model')].filter(e => e.offsetParent).map(e => e.id)"
        assert page.evaluate(visible) == ["of-model-0"]
        one = page.evaluate("document.documentElement.scrollHeight")
        page.locator("#model-2").check(force=True)
        assert page.evaluate(visible) == ["of-model-2"]
        page.locator("#model-all").check(force=True)
        assert len(page.evaluate(visible)) == 3
        assert one < 6000 < 1.5 * page.evaluate("document.documentElement.scrollHeight")
        for link in page.locator("nav a").all():
            link.click()
            target = page.locator(link.get_attribute("href"))
            top = target.bounding_box()["y"]
            assert -5 <= top <= 900, link.inner_text()


def test_small_diagrams_fill_their_rows(pages: dict[str, Path], browser: Any) -> None:
    for name, width in (("classes", 1280), ("classes", 375), ("hostile", 1280), ("hostile", 700)):
        with Watched(browser, pages[name], width) as watched:
            tops = watched.page.evaluate(
                "[...document.querySelectorAll('.small')].map(e => e.getBoundingClientRect().top)"
            )
            rows = [tops.count(top) for top in sorted(set(tops))]
            assert max(rows) - rows[-1] <= 2, (name, width, rows)


def test_tables_are_sorted_by_any_column(pages: dict[str, Path], browser: Any) -> None:
    with Watched(browser, pages["hostile"]) as watched:
        page = watched.page
        head = page.locator("table.sortable thead th").nth(1)
        values = (
            "[...document.querySelectorAll('table.sortable tbody tr')].map(row => Number(row.cells[1].dataset.value))"
        )
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == "descending"
        down = page.evaluate(values)
        assert down == sorted(down, reverse=True) and len(down) == 41
        head.locator("button").click()
        assert page.evaluate(values) == sorted(down)


def test_hostile_names_are_shown_and_do_nothing(pages: dict[str, Path], browser: Any) -> None:
    with Watched(browser, pages["hostile"]) as watched:
        page = watched.page
        assert page.locator("h1").inner_text() == HOSTILE
        assert page.locator("table.sortable tbody th").filter(has_text=HOSTILE).count() == 1
        assert page.locator("img").count() == 0
        # A script that is inserted into the page does not run.
        page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hacked = 1\">')")
        page.wait_for_timeout(100)
        assert page.evaluate("window.hacked") is None
        watched.complaints.clear()
        watched.requests[1:] = []


@pytest.mark.parametrize("name", NAMES)
def test_printing_keeps_every_chart(pages: dict[str, Path], browser: Any, name: str) -> None:
    with Watched(browser, pages[name]) as watched:
        page = watched.page
        n_charts = page.locator("figure[data-chart]").count()
        page.emulate_media(media="print")
        for figure in range(n_charts):
            # One view of each chart is on paper: a switch has chosen it.
            box = page.locator("figure[data-chart]").nth(figure).locator(".plot:visible > svg").bounding_box()
            assert box and box["width"] > 100 and box["height"] > 100, figure
        assert not page.locator(".controls").first.is_visible()
        assert len(page.pdf()) > 10_000


@pytest.mark.parametrize("name", NAMES)
def test_a_screen_reader_finds_names_and_tables(pages: dict[str, Path], browser: Any, name: str) -> None:
    with Watched(browser, pages[name]) as watched:
        page = watched.page
        drawings = page.locator("svg[role='img']")
        for place in range(drawings.count()):
            assert drawings.nth(place).locator("> title").text_content()
        figures = page.locator("figure[data-chart]")
        for place in range(figures.count()):
            assert figures.nth(place).locator("details.numbers table caption").count() == 1
        assert page.locator("h1").count() == 1
        unnamed = (
            "[...document.querySelectorAll('input, button')]"
            ".filter(e => !e.closest('label') && !e.textContent.trim()).length"
        )
        assert page.evaluate(unnamed) == 0
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
        assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", NAMES)
def test_pages_are_small(pages: dict[str, Path], name: str) -> None:
    assert pages[name].stat().st_size < 2_000_000

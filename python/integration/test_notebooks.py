"""The notebooks run, and print the numbers that they were committed with."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import notebooks  # noqa: E402 (a script, found by the line above)

NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.(\d+))?(?:e(-?\d+))?")


def numbers(text: str) -> list[tuple[float, float]]:
    """Every number of a text, with one unit of its last digit."""
    return [
        (float(found[0].replace(",", "")), 10.0 ** (int(found[2] or 0) - len(found[1] or "")))
        for found in NUMBER.finditer(text)
    ]


def words(text: str) -> str:
    # A number may be one character longer than it was, and columns move with it.
    return re.sub(r"[ \-]+", " ", NUMBER.sub("#", text))


@pytest.mark.parametrize("path", notebooks.sources(), ids=lambda path: path.stem)
def test_a_notebook_prints_what_was_committed(path: Path) -> None:
    committed = nbformat.read(path.with_suffix(".ipynb"), as_version=4)
    nbformat.validate(committed)
    assert [cell.source for cell in committed.cells] == [
        cell.source for cell in notebooks.cells(path.read_text(encoding="utf-8"))
    ], f"{path.name} was changed: run scripts/notebooks.py"
    again = notebooks.run(path)
    for now, then in zip(notebooks.shown(again), notebooks.shown(committed), strict=True):
        assert words(now) == words(then)
        for (value, unit), (expected, _) in zip(numbers(now), numbers(then), strict=True):
            # Sums may be rounded in another order by another processor; one unit of what is shown
            # is all that can do.
            assert abs(value - expected) <= 1.001 * unit, (now, then)
    images = [
        sum("image/png" in o.get("data", {}) for c in n.cells for o in c.get("outputs", [])) for n in (again, committed)
    ]
    assert images[0] == images[1]


@pytest.mark.parametrize("path", notebooks.sources(), ids=lambda path: path.stem)
def test_a_notebook_needs_only_this_repository(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert "environ" not in source and "http" not in source
    for read in re.findall(r"\.\./[\w./{}]*", source):
        assert read.startswith("../examples/"), read


def test_notebooks_hold_no_data_and_stay_small() -> None:
    paths = [path.with_suffix(".ipynb") for path in notebooks.sources()]
    assert len(paths) == 3
    for path in paths:
        assert path.stat().st_size < 500_000, path.name
        for cell in nbformat.read(path, as_version=4).cells:
            for output in cell.get("outputs", []):
                assert output["output_type"] != "error" and output.get("name") != "stderr", output

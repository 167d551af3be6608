"""The compatibility kit of sketches, read by calipers and by the reader in the documents."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import calipers as cal
import pytest

ROOT = Path(__file__).parents[2]
KIT = ROOT / "fixtures" / "sketches"
EXPECTED: dict[str, dict[str, Any]] = json.loads((KIT / "expected.json").read_text())


def documented_reader() -> Any:
    """`read_sketch` as docs/sketch-format.md has it."""
    text = (ROOT / "docs" / "sketch-format.md").read_text()
    code = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(code) == 1
    assert len(code[0].splitlines()) <= 180
    found: dict[str, Any] = {}
    exec(code[0], found)  # noqa: S102
    return found["read_sketch"]


READ = documented_reader()


def test_the_kit_has_every_file_and_version() -> None:
    assert {path.stem for path in KIT.glob("*.calipers")} == set(EXPECTED)
    assert {name.split("_")[0] for name in EXPECTED} == {"v1", "v2", "v3", "v4"}
    for name in EXPECTED:
        assert (KIT / f"{name}.calipers").read_bytes()[8] == int(name[1])


@pytest.mark.parametrize("name", EXPECTED)
def test_bytes_of_every_version_are_read_and_written_again(name: str) -> None:
    data = (KIT / f"{name}.calipers").read_bytes()
    sketch = cal.Sketch.from_bytes(data)
    assert sketch.to_bytes(version=int(name[1])) == data
    assert cal.Sketch.from_bytes(sketch.to_bytes()) == sketch
    expected = EXPECTED[name]
    for fact in ("n", "total_weight", "profile", "resolution", "n_cells", "n_clipped", "left_out"):
        assert getattr(sketch, fact) == expected[fact], fact
    for measure, (value, bound) in expected.get("values", {}).items():
        options: dict[str, Any] = {"ls_ece": {"sigma": 0.25, "tolerance": 1e-4}, "brier_score": {}}.get(
            measure, {"n_bins": sketch.n_bins[0] if sketch.n_bins else 10}
        )
        found = sketch.estimate(measure, **options)
        assert abs(found - value) <= found.numerical_bound + bound


@pytest.mark.parametrize("name", EXPECTED)
def test_the_documented_reader_reads_every_version(name: str) -> None:
    data = (KIT / f"{name}.calipers").read_bytes()
    head, bins, tables = READ(data)
    expected = EXPECTED[name]
    rows = [cell[1] for table in tables for cell in table]
    assert (sum(rows), len(rows)) == (expected["n"], expected["n_cells"])
    assert head["rows"] - sum(head["left_out"]) == expected["n"]
    assert head["clipped"] == expected["n_clipped"]
    unit = 2 ** head["weight_bits"] if head["weighted"] else 1
    units = sum(cell[2] for table in tables for cell in table)
    assert units / unit == expected["total_weight"]
    positive = sum(cell[2] for table in tables[1::2] for cell in table)
    for of in bins:
        assert [sum(column) for column in list(zip(*of, strict=True))[1:4]] == [
            expected["n"],
            units,
            positive,
        ] or not of
    # ECE by its definition, from the sums of the first binning.
    if expected["n"] and bins:
        ece = sum(abs((outcomes << 56) - p) for _, _, _, outcomes, p in bins[0]) / (units << 56)
        value, bound = expected["values"]["expected_calibration_error"]
        assert abs(ece - value) <= bound + 1e-12
    # Every field, not only sums: the sketch that calipers reads has the same in another version.
    sketch = cal.Sketch.from_bytes(data)
    if head["profile"] == 0 and not head["inexact_sums"]:
        older = sketch.to_bytes(version=2)
        for again in (older, sketch.to_bytes(version=3), sketch.to_bytes()):
            other, other_bins, other_tables = READ(again)
            assert other_bins == bins
            # But for the rest of squared weights, which version 4 alone has.
            assert [[cell[:6] for cell in table] for table in other_tables] == [
                [cell[:6] for cell in table] for table in tables
            ]
            assert {**other, "version": 0} == {**head, "version": 0}


def test_a_single_row_has_the_place_that_the_format_defines() -> None:
    head, bins, tables = READ(cal.Sketch().update([1], [0.3]).to_bytes())
    assert head["scores"] == 1
    # 0.3 = 1.2 · 2^-2: its cell is below that of 1/2 by 2^12 and the part of the octave above it.
    (cell, rows, weight, square, first, second, _) = tables[1][0]
    assert (rows, weight, square) == (1, 1, 1)
    assert cell == 2**13 - int(1.2 * 2**12)
    offset = int((1.2 * 2**12 % 1) * 2**20)
    assert (first, second) == (offset, offset**2)
    assert bins[0] == [(2, 1, 1, 1, int(0.3 * 2**56))]

"""The shared table of rows that are not quite right: every way to pass rows accepts and counts them alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import calipers as cal
import numpy as np
import pytest

TABLE = json.loads((Path(__file__).parents[2] / "fixtures" / "inexact.json").read_text(encoding="utf-8"))
EACH = pytest.mark.parametrize("case", TABLE, ids=[case["name"] for case in TABLE])


class _ByDLPack:
    """An array that nothing but DLPack reads."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> object:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


def counts(estimate: cal.Estimate) -> dict[str, Any]:
    return {name: getattr(estimate, name) for name in ("n_rounded", "n_inexact_sums", "left_out")}


def expected(case: dict[str, Any]) -> dict[str, Any]:
    return {name: case[name] for name in ("n_rounded", "n_inexact_sums", "left_out")}


@EACH
def test_arrays_of_every_kind_are_counted_alike(case: dict[str, Any]) -> None:
    y, p = case["y_true"], case["y_prob"]
    kinds = (p, np.array(p), np.array(p, np.float32), np.array(p, order="F"), _ByDLPack(np.array(p)))
    for rows in kinds:
        for measure in (cal.ls_ece, cal.expected_calibration_error):
            assert counts(measure(y, rows, **case["options"])) == expected(case)
    assert counts(cal.ls_ece(cal.Predictions(y, p, **case["options"]))) == expected(case)


@EACH
def test_sketches_count_them_alike(case: dict[str, Any]) -> None:
    y, p = case["y_true"], np.array(case["y_prob"])
    whole = cal.Sketch().update(y, p, **case["options"])
    rows = cal.Sketch()
    for row in range(len(y)):
        rows.update(y[row : row + 1], p[row : row + 1], **case["options"])
    assert rows.to_bytes() == whole.to_bytes()
    for sketch in (whole, cal.Sketch.from_bytes(whole.to_bytes())):
        assert counts(sketch.ls_ece()) == expected(case)


def test_inexact_sums_are_in_the_text_of_a_result() -> None:
    found = cal.ls_ece([0, 1], [[0.33, 0.33, 0.33], [0.25, 0.5, 0.25]])
    assert "n_inexact_sums=1" in repr(found)
    with pytest.raises(cal.CalipersError, match=r"must sum to 1 within 0\.001, got 0\.990000"):
        cal.ls_ece([0], [[0.33, 0.33, 0.33]], sum_tolerance=0.001)


def test_what_does_not_fit_into_memory_is_an_error() -> None:
    with pytest.raises(cal.CalipersError, match="n must be at most 1000000000, and fit into memory, got 1000000000000"):
        cal.simulate("overconfident", 10**12)
    column = np.empty(60_001, dtype=object)
    column[0] = [1.0] + [0.0] * 99_999
    with pytest.raises(cal.CalipersError, match="got 60000 of 60001 lists of 100000 values missing"):
        cal.ls_ece([0] * 60_001, column, invalid="count")

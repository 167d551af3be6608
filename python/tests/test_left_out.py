"""Rows that are left out: every result that prints a verdict reports how many there are and why."""

from __future__ import annotations

import math

import calipers as cal
import numpy as np
import pytest

SENTENCE = "300 of 400 rows were left out: 300 probabilities are invalid."
OPTIONS = {"sigma": 0.5, "n_resamples": 50, "invalid": "count"}


def rows() -> tuple[np.ndarray, np.ndarray]:
    """400 rows, of which only every fourth has a probability."""
    row = np.arange(400)
    p = (row * 0.618033988749895) % 1
    y = ((row * 0.414213562373095) % 1 < p).astype(int)
    return y, np.where(row % 4 == 0, p, math.nan)


def test_an_assessment_prints_them_once() -> None:
    found = cal.assess(*rows(), **OPTIONS)
    assert found.sentence.endswith(f" {SENTENCE}")
    assert repr(found).count(SENTENCE) == 1
    assert "\n  rows              100, 300 left out" in repr(found)
    assert SENTENCE in found._repr_html_()
    assert SENTENCE in found.to_dict()["sentence"]


def test_a_comparison_prints_them_once() -> None:
    y, p = rows()
    found = cal.compare(y, {"a": p, "b": p**2}, **OPTIONS)
    assert found.sentence.splitlines()[-1] == SENTENCE
    assert repr(found).count(SENTENCE) == 1
    assert SENTENCE in found._repr_html_()


def test_a_sweep_prints_them() -> None:
    found = cal.sweep(*rows(), bins=[10, 20], invalid="count")
    assert found.sentence.endswith(f". {SENTENCE}")
    assert repr(found).count(SENTENCE) == 1
    sketched = cal.Sketch().update(*rows(), invalid="count").sweep(bins=[10, 15])
    assert repr(sketched).count(SENTENCE) == 1


def test_a_sketch_prints_them() -> None:
    sketch = cal.Sketch().update(*rows(), invalid="count")
    assert repr(sketch).endswith(", left_out={'invalid probability': 300})")
    assert sketch.assess(sigma=0.5, n_resamples=50).sentence.endswith(SENTENCE)
    assert "left_out" not in repr(cal.Sketch().update([0, 1], [0.2, 0.7]))


def test_nothing_is_said_where_no_row_is_left_out() -> None:
    y, p = rows()
    kept = ~np.isnan(p)
    for found in (cal.assess(y[kept], p[kept], sigma=0.5, n_resamples=50), cal.sweep(y[kept], p[kept], bins=[10, 20])):
        assert "left out" not in repr(found)


def test_an_upper_limit_below_the_value_is_explained() -> None:
    """Few rows and many bins: chance makes most of ECE, and the limit is without that part."""
    rng = np.random.default_rng(3)
    p = rng.random(400)
    found = cal.assess(rng.random(400) < p, p, measure="expected_calibration_error", n_bins=100, n_resamples=200)
    if not found.interval.upper < found.value:
        pytest.fail(f"the case is not the one that is tested: {found}")
    what = "limit" if found.interval.is_upper_limit else "interval"
    assert f"This {what} is below the value of " in found.sentence
    assert "because chance raises the value: without that bias, the value is about 0." in found.sentence

"""Small batches by the quick way, parts that are taken out again, and profiles."""

from __future__ import annotations

import math
import threading
from typing import Any

import calipers as cal
import numpy as np
import pytest

QUICK: dict[str, list[type]] = {
    "labels": [np.int64, np.int32, np.uint8, np.float64, np.float32],
    "scores": [np.float64, np.float32],
}


@pytest.mark.parametrize("dtype", QUICK["labels"])
@pytest.mark.parametrize("precision", QUICK["scores"])
@pytest.mark.parametrize("size", [1, 23, 100, 4096, 4097])
def test_quick_batches_are_those_of_the_long_way(dtype: type, precision: type, size: int) -> None:
    rng = np.random.default_rng(size)
    p = rng.random(2 * size).astype(precision)
    y = (rng.random(2 * size) < p).astype(dtype)
    w = rng.random(2 * size)
    cases: list[dict[str, Any]] = [{}, {"sample_weight": w}, {"from_logits": True}, {"sample_weight": None}]
    for options in cases:
        scores = 8 * p - 4 if "from_logits" in options else p
        quick, long = cal.Sketch(), cal.Sketch()
        for part in (slice(0, size), slice(size, None)):
            given = {name: value[part] if isinstance(value, np.ndarray) else value for name, value in options.items()}
            quick.update(y[part], scores[part], **given)
            # `ties` is not looked at here, but is no option of a quick batch.
            long.update(y[part], scores[part], ties="first", **given)
        assert quick.to_bytes() == long.to_bytes()


def test_lists_and_arrays_of_any_layout_are_the_same_rows() -> None:
    p, y = [0.25, 0.5, 1.0, 0.0], [0, 1, 1, 0]
    expected = cal.Sketch().update(y, p, ties="first").to_bytes()
    strided = np.repeat(np.array(p), 2)[::2]
    misaligned = np.frombuffer(b"." + np.array(p).tobytes(), dtype=np.float64, offset=1)
    big_endian = np.array(p, dtype=">f8")
    for scores in (p, tuple(p), np.array(p), strided, misaligned, big_endian, np.array(p)[:, None]):
        for labels in (y, [bool(each) for each in y], np.array(y), np.array(y) == 1, np.array(y, dtype=np.int16)):
            assert cal.Sketch().update(labels, scores).to_bytes() == expected
    masked = np.ma.masked_array([0.25, 0.7], [False, True])
    with pytest.raises(cal.CalipersError, match="probability in row 1 is missing"):
        cal.Sketch().update([0, 1], masked)


def test_an_invalid_quick_batch_changes_nothing_and_counts_rows_over_batches() -> None:
    sketch = cal.Sketch().update([1, 0], [0.5, 0.25])
    before = sketch.to_bytes()
    with pytest.raises(cal.CalipersError, match=r"in row 3 must be in \[0, 1\], got NaN"):
        sketch.update(np.array([1, 0]), np.array([0.5, math.nan]))
    with pytest.raises(cal.CalipersError, match="row 2"):
        sketch.update([2], [0.5])
    with pytest.raises(cal.CalipersError):
        sketch.update([1, 1], [0.5])
    with pytest.raises(TypeError, match="unexpected keyword"):
        sketch.update([1], [0.5], sample_weights=[1.0])
    assert sketch.to_bytes() == before


def test_a_part_can_be_taken_out_again() -> None:
    rng = np.random.default_rng(5)
    p = rng.random(3000)
    y = (rng.random(3000) < p).astype(int)
    for options in ({}, {"profile": "monitoring"}, {"resolution": 8}):
        days = [cal.Sketch(**options).update(y[k::3], p[k::3]) for k in range(3)]
        month = days[0].copy().merge(days[1]).merge(days[2])
        rest = month - days[0]
        assert rest.to_bytes() == days[1].copy().merge(days[2]).to_bytes()
        assert (rest - days[1] - days[2]).n == 0
        assert month == cal.Sketch(**options).update(y, p)
        with pytest.raises(cal.CalipersError, match="must be part of the other"):
            days[0] - days[1]
    with pytest.raises(TypeError):
        days[0] - 1  # type: ignore[operator]


def test_profiles_coarsen_exactly_and_say_what_they_are() -> None:
    rng = np.random.default_rng(6)
    p = 1 / (1 + np.exp(-rng.normal(0, 2, 10_000)))
    y = (rng.random(10_000) < p).astype(int)
    small = cal.Sketch(profile="monitoring").update(y, p)
    exact = cal.Sketch().update(y, p)
    assert (small.profile, exact.profile) == ("monitoring", "exact")
    assert "profile='monitoring'" in repr(small)
    assert len(small.to_bytes()) <= 10_000 < len(exact.to_bytes()) <= 40_000
    estimate, reference = small.ls_ece(sigma=0.3), exact.ls_ece(sigma=0.3)
    assert abs(estimate - reference) <= estimate.numerical_bound + reference.numerical_bound
    assert small.expected_calibration_error(n_bins=15) == exact.expected_calibration_error(n_bins=15)
    assert exact.copy().coarsen(profile="monitoring") == small
    assert exact.copy().coarsen(9, profile="monitoring") == small.copy().coarsen(9)
    assert exact.copy().merge(small) == small.copy().merge(exact)
    with pytest.raises(cal.CalipersError, match="can be made no finer"):
        small.coarsen(profile="exact")
    with pytest.raises(cal.CalipersError, match="profile must be"):
        cal.Sketch(profile="small")  # type: ignore[arg-type]
    with pytest.raises(cal.CalipersError, match="profile must be"):
        cal.Sketch(profile="monitoring", tolerance=1e-5, smallest_sigma=0.1)
    with pytest.raises(cal.CalipersError, match="version must be at least 3"):
        small.to_bytes(version=2)


def test_threads_that_merge_into_each_other_do_not_wait_forever() -> None:
    sketches = [cal.Sketch().update([1, 0], [0.9, 0.1]) for _ in range(2)]
    copies = [sketch.copy() for sketch in sketches]

    def merge(ours: int) -> None:
        for _ in range(8):
            sketches[ours].merge(sketches[1 - ours])
            copies[ours].update([1], [0.5])

    threads = [threading.Thread(target=merge, args=(ours,)) for ours in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert all(copy.n == 10 for copy in copies)

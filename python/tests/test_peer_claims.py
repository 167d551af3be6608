"""Where docs/measures.md says that a package differs from the definition: ours is a slow version's, and theirs is not.

What a package does is written out here in a few lines; `python/integration` runs the packages themselves.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import calipers
import numpy as np
import pytest
from cases import Doubles, case, pooled
from numpy.typing import NDArray


def smooth_ece_at(y: Doubles, p: Doubles, weight: Doubles, sigma: float) -> float:
    """The integral of the residuals that a reflected Gaussian smooths, by the midpoint rule."""
    step = 1 / 2_000
    t = np.arange(step / 2, 1, step)
    residual = weight / weight.sum() * (y - p)
    total = np.zeros_like(t)
    for k in (-2, -1, 0, 1, 2):
        for sign in (-1, 1):
            total += np.exp(-(((t[:, None] - sign * p - 2 * k) / sigma) ** 2) / 2) @ residual
    return float(np.abs(total).sum() * step / (sigma * math.sqrt(2 * math.pi)))


def with_ends(seed: int, n: int) -> tuple[Doubles, Doubles]:
    """A quarter of the rows says 0 or 1, and is wrong more often than not saying so would be."""
    rng = np.random.default_rng(seed)
    p = rng.beta(2, 2, n)
    p[: n // 8], p[n // 8 : n // 4] = 0.0, 1.0
    y = (rng.random(n) < 0.5 * p + 0.25).astype(float)
    return y, p


@pytest.mark.parametrize("seed", range(4))
def test_relplot_counts_rows_at_0_and_1_half_in_smooth_ece(seed: int) -> None:
    y, p = with_ends(seed, 200)
    whole, halved = np.ones_like(p), np.where((p == 0) | (p == 1), 0.5, 1.0)
    exact, relplot = calipers.smooth_ece(y, p), calipers.smooth_ece(y, p, compat="relplot")
    # The value is its own width; that of relplot is the width up to 2^-10, and its grids are good
    # to a per mille.
    assert exact == pytest.approx(smooth_ece_at(y, p, whole, float(exact)), abs=1e-6)
    assert relplot == pytest.approx(smooth_ece_at(y, p, halved, relplot.settings["sigma"]), abs=1e-3)
    assert relplot == pytest.approx(relplot.settings["sigma"], abs=2**-10)
    assert exact - relplot > 0.005
    for sigma in (0.02, 0.1):
        ours, theirs = (calipers.smooth_ece(y, p, sigma=sigma, compat=compat) for compat in (None, "relplot"))
        assert ours == pytest.approx(smooth_ece_at(y, p, whole, sigma), abs=1e-5)
        assert theirs == pytest.approx(smooth_ece_at(y, p, halved, sigma), abs=2e-3)
    # Without such rows there is no difference but that of grids.
    inside = (p > 0) & (p < 1)
    exact, relplot = (calipers.smooth_ece(y[inside], p[inside], compat=compat) for compat in (None, "relplot"))
    assert relplot == pytest.approx(exact, abs=2e-3)


@pytest.mark.parametrize("compat", ["relplot", "torchmetrics"])
def test_some_give_a_probability_of_1_a_bin_of_its_own(compat: Any) -> None:
    y = np.array([1, 0, 1, 1, 0, 1])
    p = np.array([0.95, 0.95, 1.0, 1.0, 1.0, 0.5])
    # Ten bins: the last has (0.95, 0.95, 1, 1, 1) with 3 events, or both kinds apart:
    # |1 - 1.9| and |2 - 3|.
    ours, theirs = abs(3 - 4.9) / 6 + 0.5 / 6, (abs(1 - 1.9) + abs(2 - 3)) / 6 + 0.5 / 6
    assert calipers.expected_calibration_error(y, p, n_bins=10) == pytest.approx(ours, abs=1e-15)
    assert calipers.expected_calibration_error(y, p, n_bins=10, compat=compat) == pytest.approx(theirs, abs=1e-7)
    # Where their signs differ, one bin lets them cancel.
    y, p = np.array([1, 1, 0, 1]), np.array([0.9375, 0.9375, 1.0, 1.0])
    assert calipers.expected_calibration_error(y, p, n_bins=8) == pytest.approx((3.875 - 3) / 4, abs=1e-15)
    expected = (0.125 + 1) / 4
    assert calipers.expected_calibration_error(y, p, n_bins=8, compat=compat) == pytest.approx(expected, abs=1e-7)


def test_sums_in_single_precision_lose_what_ours_keep() -> None:
    """Torchmetrics adds up in the type of the input: from 2^24 on, adding 1 changes nothing."""
    n = 400_000
    rng = np.random.default_rng(0)
    p = np.float32(0.9) + np.float32(0.1) * rng.random(n, dtype=np.float32)
    y = rng.random(n) < 0.95
    exact = abs(math.fsum(p.astype(float)) - math.fsum(y)) / n
    single = abs(float(np.cumsum(p, dtype=np.float32)[-1]) - y.sum()) / n
    found = calipers.expected_calibration_error(y, p, n_bins=1)
    assert found == pytest.approx(exact, abs=1e-12)
    assert abs(single - exact) > 1e-7 > 1e5 * found.numerical_bound


def isotonic_in_order(y: NDArray[np.float64]) -> Doubles:
    """Adjacent violators pooled, rows being taken as they come."""
    blocks: list[list[float]] = []
    for outcome in y:
        blocks.append([outcome])
        while len(blocks) > 1 and np.mean(blocks[-2]) >= np.mean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    return np.concatenate([np.full(len(block), np.mean(block)) for block in blocks])


@pytest.mark.parametrize("seed", range(4))
def test_ties_that_are_not_pooled_make_corp_a_matter_of_row_order(seed: int) -> None:
    """Scoringrules sorts by p alone, and takes rows of equal p in the order in which they stand."""
    y, p, _ = case(seed, 200)
    p = np.round(p, 1)
    first, last = np.lexsort((y, p)), np.lexsort((-y, p))

    def miscalibration(order: NDArray[np.intp]) -> float:
        return float(np.mean((y - p) ** 2) - np.mean((y[order] - isotonic_in_order(y[order])) ** 2))

    # Zeros first among equals makes the fit too good; ones first are all pooled again, as they
    # should be.
    assert miscalibration(first) > miscalibration(last) + 1e-3
    for order in (first, last, np.arange(200)):
        assert calipers.corp(y[order], p[order]).miscalibration == pytest.approx(miscalibration(last), abs=1e-13)


@pytest.mark.parametrize("seed", range(4))
def test_the_cumulated_sum_begins_at_0(seed: int) -> None:
    """MAPIE's Kuiper statistic takes the range of the sums after each row, and not of the 0 before the first."""
    y, p, weight = case(seed, 200)
    p = p / 2  # so that events are more frequent than predicted, and the sum rises from the first row on
    y[np.argsort(p)[:20]] = 1
    values, zeros, ones = pooled(y, p, weight + 1)
    sums = np.cumsum(ones * (1 - values) - zeros * values)
    found = calipers.ecce_r(y, p, sample_weight=weight + 1)
    assert found == pytest.approx(max(0, sums.max()) - min(0, sums.min()), abs=1e-14)
    assert np.ptp(sums) < found - 1e-4


@pytest.mark.parametrize("seed", range(4))
def test_mmce_is_of_the_view_that_is_asked_for(seed: int) -> None:
    """Netcal takes p of the positive class for the confidence in the predicted one."""
    y, p, _ = case(seed, 200, ties=False)
    both = np.stack([1 - p, p], axis=1)
    right, confidence = ((p > 0.5) == (y == 1)).astype(float), both.max(axis=1)

    def pairs(residual: Doubles, at: Doubles) -> float:
        kernel = np.exp(-np.abs(at[:, None] - at) / 0.4)
        return math.sqrt(residual @ kernel @ residual) / len(at)

    assert calipers.mmce(y, p) == pytest.approx(pairs(y - p, p), abs=1e-14)
    found = calipers.mmce(y, both, multiclass="top_class")
    assert found == pytest.approx(pairs(right - confidence, confidence), abs=1e-14)


def test_mapie_makes_one_bin_fewer_than_requested() -> None:
    """Its edges are np.linspace(0, 1, num_bins), so that 50 bins are 49."""
    y, p, _ = case(0, 400, ties=False)
    edges = np.linspace(0, 1, 50)
    bins = np.clip(np.digitize(p, edges, right=True) - 1, 0, len(edges) - 2)
    theirs = sum(abs((y - p)[bins == each].sum()) for each in range(len(edges) - 1)) / len(y)
    assert calipers.expected_calibration_error(y, p, n_bins=49) == pytest.approx(theirs, abs=1e-12)
    assert abs(calipers.expected_calibration_error(y, p, n_bins=50) - theirs) > 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_calzone_loses_the_row_with_the_smallest_probability(seed: int) -> None:
    """Its bins of equal mass are (a, b], the first one too, so that a row at its lower edge is in none."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 0.5, 500)
    y = (rng.random(500) < p).astype(float)
    y[np.argmin(p)] = 1.0
    edges = np.quantile(p, np.linspace(0, 1, 11))
    inside = [(p > low) & (p <= high) for low, high in pairwise(edges)]
    assert sum(each.sum() for each in inside) == 499

    def statistic(groups: list[NDArray[np.bool_]]) -> float:
        residuals = [(y - p)[each].sum() ** 2 / (each.sum() * p[each].mean() * (1 - p[each].mean())) for each in groups]
        return float(sum(residuals))

    whole = [inside[0] | (p == p.min()), *inside[1:]]
    found = calipers.hosmer_lemeshow_test(y, p, quantiles="interpolated", null_distribution="asymptotic")
    assert found.statistic == pytest.approx(statistic(whole), rel=1e-10)
    assert abs(statistic(whole) - statistic(inside)) > 1e-3


def test_a_one_sided_spiegelhalter_test_misses_underconfidence() -> None:
    """MAPIE takes the upper tail alone: the p-value of underconfident predictions is near 1."""
    rng = np.random.default_rng(0)
    truth = rng.beta(0.5, 0.5, 2_000)
    y = (rng.random(2_000) < truth).astype(float)
    timid = 0.5 + 0.6 * (truth - 0.5)
    z = ((y - timid) * (1 - 2 * timid)).sum() / math.sqrt(((1 - 2 * timid) ** 2 * timid * (1 - timid)).sum())
    one_sided = 0.5 * math.erfc(z / math.sqrt(2))
    assert one_sided > 0.99 and calipers.spiegelhalter_test(y, timid).p_value < 0.01

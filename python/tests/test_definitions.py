"""Measures of rows, bins and pairs against versions that are written from their definitions alone."""

from __future__ import annotations

import math
from typing import Any

import calipers
import numpy as np
import pytest
from cases import Doubles, case, pooled
from numpy.typing import NDArray
from scipy import interpolate, special, stats


@pytest.mark.parametrize("seed", range(5))
def test_cumulative_errors_are_extremes_of_the_cumulated_residuals(seed: int) -> None:
    y, p, weight = case(seed, 200)
    values, zeros, ones = pooled(y, p, weight)
    curve = np.concatenate([[0.0], np.cumsum(ones * (1 - values) - zeros * values)])
    assert calipers.ecce_r(y, p, sample_weight=weight) == pytest.approx(np.ptp(curve), abs=1e-14)
    assert calipers.ecce_mad(y, p, sample_weight=weight) == pytest.approx(np.abs(curve).max(), abs=1e-14)
    found = calipers.cumulative_curve(y, p, sample_weight=weight)
    weighty = np.concatenate([[True], zeros + ones > 0])
    assert found.differences == pytest.approx(curve[weighty], abs=1e-14)
    assert found.shares == pytest.approx(np.concatenate([[0.0], np.cumsum(zeros + ones)])[weighty], abs=1e-14)
    assert found.probabilities[1:] == pytest.approx(values[weighty[1:]])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("length_scale", [1.0, 0.4, 0.01])
def test_kernel_errors_are_the_double_sum(seed: int, length_scale: float) -> None:
    y, p, weight = case(seed, 200)
    residual = weight / weight.sum() * (y - p)
    kernel = np.exp(-np.abs(p[:, None] - p) / length_scale)
    expected = math.sqrt(residual @ kernel @ residual)
    found = calipers.kernel_calibration_error(y, p, length_scale=length_scale, sample_weight=weight)
    assert found == pytest.approx(expected, abs=1e-14)
    if length_scale == 0.4:
        assert calipers.mmce(y, p, sample_weight=weight) == pytest.approx(expected, abs=1e-14)


def isotonic(zeros: Doubles, ones: Doubles) -> Doubles:
    """The largest over starts of the least over ends of the mean: the minimax formula, term by term."""
    n = len(ones)

    def mean(start: int, end: int) -> float:
        return float(ones[start:end].sum() / (zeros[start:end].sum() + ones[start:end].sum()))

    return np.array([max(min(mean(i, j) for j in range(k + 1, n + 1)) for i in range(k + 1)) for k in range(n)])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("score", ["brier", "log"])
def test_corp_is_the_score_less_that_of_the_isotonic_fit(seed: int, score: Any) -> None:
    y, p, weight = case(seed, 40)
    p = np.clip(p, 0.01, 0.99)
    values, zeros, ones = pooled(y, p, weight)
    values, zeros, ones = (column[zeros + ones > 0] for column in (values, zeros, ones))

    def mean_score(q: Doubles | float) -> float:
        if score == "brier":
            return float(np.sum(ones * (1 - q) ** 2 + zeros * np.square(q)))
        return float(np.sum(-special.xlogy(ones, q) - special.xlogy(zeros, 1 - q)))

    fit = isotonic(zeros, ones)
    parts = calipers.corp(y, p, score=score, sample_weight=weight)
    assert parts.score == pytest.approx(mean_score(values), abs=1e-13)
    assert parts.miscalibration == pytest.approx(mean_score(values) - mean_score(fit), abs=1e-13)
    assert parts.uncertainty == pytest.approx(mean_score(ones.sum() + 0 * values), abs=1e-13)
    assert parts.discrimination == pytest.approx(mean_score(ones.sum() + 0 * values) - mean_score(fit), abs=1e-13)
    assert parts.score == pytest.approx(parts.miscalibration - parts.discrimination + parts.uncertainty, abs=1e-14)
    assert parts.n == 40
    curve = calipers.corp_curve(y, p, sample_weight=weight)
    assert curve.probabilities == pytest.approx(values)
    assert curve.shares == pytest.approx(zeros + ones, abs=1e-14)
    assert curve.outcome_rates == pytest.approx(fit, abs=1e-13)
    measure = calipers.brier_score if score == "brier" else calipers.log_loss
    assert parts.score == pytest.approx(measure(y, p, sample_weight=weight), abs=1e-13)


def equal_width(p: Doubles, n_bins: int) -> NDArray[np.int64]:
    """(a, b], the first closed."""
    return np.clip(np.ceil(p * n_bins).astype(int) - 1, 0, n_bins - 1)


@pytest.mark.parametrize("seed", range(5))
def test_debiased_ece_takes_away_what_chance_adds(seed: int) -> None:
    y, p, _ = case(seed, 200, ties=False)
    squares, gaps = 0.0, 0.0
    for b in range(8):
        inside = equal_width(p, 8) == b
        n_b = inside.sum()
        if n_b == 0:
            continue
        rate, gap = y[inside].mean(), y[inside].mean() - p[inside].mean()
        if n_b > 1:
            squares += n_b / 200 * (gap**2 - rate * (1 - rate) / (n_b - 1))
        deviation = math.sqrt(rate * (1 - rate) / n_b)
        drawn = stats.foldnorm(abs(gap) / deviation, scale=deviation).mean() if deviation > 0 else abs(gap)
        gaps += n_b / 200 * (2 * abs(gap) - drawn)
    found = calipers.debiased_ece(y, p, n_bins=8, strategy="uniform")
    assert found == pytest.approx(math.sqrt(max(0.0, squares)), abs=1e-12)
    assert calipers.debiased_ece(y, p, n_bins=8, strategy="uniform", norm="l1") == pytest.approx(gaps, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("q", [1, 2])
def test_sweep_ece_stops_where_rates_fall(seed: int, q: int) -> None:
    y, p, _ = case(seed, 150, ties=False)
    order = np.argsort(p)
    y, p = y[order], p[order]

    def parts(n_bins: int) -> list[NDArray[np.int64]]:
        bins = np.arange(150) * n_bins // 150
        return [np.flatnonzero(bins == b) for b in range(n_bins)]

    n_bins = 1
    while n_bins + 1 < 150 and all(np.diff([y[rows].mean() for rows in parts(n_bins + 1)]) >= 0):
        n_bins += 1
    expected = sum(len(rows) / 150 * abs(y[rows].mean() - p[rows].mean()) ** q for rows in parts(n_bins)) ** (1 / q)
    found = calipers.sweep_ece(y, p, norm="l1" if q == 1 else "l2")
    assert found.settings["n_bins"] == n_bins
    assert found == pytest.approx(expected, abs=1e-13)
    assert calipers.sweep_ece(y, p, max_bins=2).settings["n_bins"] == min(2, n_bins)


@pytest.mark.parametrize("seed", range(5))
def test_tcal_is_the_sum_over_pairs_of_different_rows(seed: int) -> None:
    y, p, weight = case(seed, 100)
    share, place = weight / weight.sum(), np.minimum(np.floor(p * 10).astype(int), 9)
    residual, expected = share * (y - p), 0.0
    for b in range(10):
        inside = place == b
        pairs = np.outer(residual[inside], residual[inside])
        if share[inside].sum() > 0:
            expected += (pairs.sum() - np.trace(pairs)) / share[inside].sum()
    assert calipers.tcal_squared_error(y, p, n_bins=10, sample_weight=weight) == pytest.approx(expected, abs=1e-14)


def test_top_label_error_is_the_mean_over_predicted_classes(classes: tuple[NDArray[np.int64], Doubles]) -> None:
    labels, scores = classes
    p = special.softmax(scores, axis=1)
    top, expected = p.argmax(axis=1), 0.0
    for label in np.unique(top):
        rows = top == label
        right = (labels[rows] == label).astype(int)
        expected += rows.mean() * calipers.adaptive_calibration_error(right, p[rows].max(axis=1), n_bins=5)
    found = calipers.top_label_calibration_error(labels, p, n_bins=5)
    assert found == pytest.approx(expected, abs=1e-13)
    assert found.settings["multiclass"] == "top_label"
    assert [each.settings["class"] for each in found.per_class or ()] == np.unique(top).tolist()
    assert sum(each.settings["share"] for each in found.per_class or ()) == pytest.approx(1)
    assert calipers.top_label_calibration_error(labels, scores, n_bins=5, from_logits=True) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(3))
def test_the_surrogate_interval_error_is_the_mean_over_shifts(seed: int) -> None:
    y, p, weight = case(seed, 60)
    values, zeros, ones = pooled(y, p, weight)
    residuals = ones * (1 - values) - zeros * values

    def mean_error(width: float) -> float:
        shifts = (np.arange(20_000) + 0.5) / 20_000 * width
        bins = np.floor((values[:, None] - shifts) / width).astype(int) + 1
        sums = np.zeros((bins.max() + 1, len(shifts)))
        np.add.at(sums, (bins, np.arange(len(shifts))), residuals[:, None])
        return float(np.abs(sums).sum(axis=0).mean())

    expected = min(mean_error(2.0**-k) + 2.0**-k for k in range(9))
    found = calipers.surrogate_interval_calibration_error(y, p, sample_weight=weight)
    assert found == pytest.approx(expected, abs=1e-3)
    assert mean_error(found.settings["width"]) + found.settings["width"] == pytest.approx(found, abs=1e-3)


def test_observed_expected_is_the_ratio() -> None:
    y, p, weight = case(1, 100)
    found = calipers.observed_expected(y, p, sample_weight=weight)
    assert found == pytest.approx((weight @ y) / (weight @ p), rel=1e-14)


def test_cox_calibration_solves_the_likelihood_equations() -> None:
    y, p, weight = case(5, 400, ties=False)
    h = special.logit(p)
    found = calipers.cox_calibration(y, p, sample_weight=weight)
    fitted = special.expit(found.intercept + found.slope * h)
    assert abs(weight @ (y - fitted)) < 1e-8
    assert abs((weight * h) @ (y - fitted)) < 1e-8
    design = np.stack([np.ones_like(h), h])
    covariance = np.linalg.inv((design * weight * fitted * (1 - fitted)) @ design.T)
    assert found.intercept_standard_error == pytest.approx(math.sqrt(covariance[0, 0]), rel=1e-8)
    assert found.slope_standard_error == pytest.approx(math.sqrt(covariance[1, 1]), rel=1e-8)
    assert found.covariance == pytest.approx(covariance[0, 1], rel=1e-8)
    shifted = special.expit(found.in_the_large + h)
    assert abs(weight @ (y - shifted)) < 1e-8
    expected = 1 / math.sqrt(weight @ (shifted * (1 - shifted)))
    assert found.in_the_large_standard_error == pytest.approx(expected, rel=1e-8)
    by_logits = calipers.cox_calibration(y, h, sample_weight=weight, from_logits=True)
    assert by_logits.slope == pytest.approx(found.slope, rel=1e-9)


def test_names_that_people_search_for_are_the_binned_error() -> None:
    y, p, weight = case(6, 200)
    for norm, function in [
        ("l2", calipers.root_mean_squared_calibration_error),
        ("max", calipers.maximum_calibration_error),
    ]:
        for strategy in ("uniform", "quantile"):
            expected = calipers.expected_calibration_error(
                y,
                p,
                n_bins=9,
                strategy=strategy,
                norm=norm,
                sample_weight=weight,  # type: ignore[arg-type]
            )
            assert function(y, p, n_bins=9, strategy=strategy, sample_weight=weight) == expected  # type: ignore[arg-type]
    expected = calipers.expected_calibration_error(y, p, n_bins=9, strategy="quantile", sample_weight=weight)
    assert calipers.adaptive_calibration_error(y, p, n_bins=9, sample_weight=weight) == expected


@pytest.mark.parametrize("n_knots", [4, 6, 15])
def test_the_spline_has_the_slope_of_scipys_least_squares_on_many_points(n_knots: int) -> None:
    """Without ends to run out: a spline whose first and last two panels are one has no knots there."""
    y, p, weight = case(n_knots, 200)
    curve = calipers.cumulative_curve(y, p, sample_weight=weight)
    s = (np.arange(200_000) + 0.5) / 200_000
    knots = np.concatenate([[0.0] * 4, np.linspace(0, 1, n_knots)[2:-2], [1.0] * 4])
    spline = interpolate.make_lsq_spline(s, np.interp(s, curve.shares, curve.differences), knots)
    expected = np.abs(np.diff(spline(curve.shares))).sum()
    found = calipers.spline_calibration_error(y, p, n_knots=n_knots, run_out="cubic", sample_weight=weight)
    assert found == pytest.approx(expected, abs=1e-6)
    gaps = calipers.spline_curve(y, p, n_knots=n_knots, run_out="cubic", sample_weight=weight).gaps
    assert found == pytest.approx(np.abs(gaps) @ np.diff(curve.shares), abs=1e-12)


def class_rows(n: int, k: int) -> tuple[Any, Any, Any]:
    """Raw scores, labels and weights of k classes."""
    rng = np.random.default_rng(k)
    logits = 3 * rng.normal(size=(n, k))
    return logits, rng.integers(0, k, n), rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("k", [3, 10, 100])
def test_scores_of_k_classes_are_over_all_classes(k: int) -> None:
    logits, labels, weight = class_rows(300, k)
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    entropy = np.average(-np.log(p[np.arange(300), labels]), weights=weight)
    squares = np.average(((np.eye(k)[labels] - p) ** 2).sum(axis=1), weights=weight)
    for scores, from_logits, within in ((p, False, 1e-12), (logits, True, 1e-12), (p.astype(np.float32), False, 1e-5)):
        given = {"sample_weight": weight, "from_logits": from_logits}
        loss = calipers.log_loss(labels, scores, **given)
        assert loss == pytest.approx(entropy, abs=within)
        assert loss.settings["multiclass"] == "all_classes" and loss.settings["n_classes"] == k
        assert calipers.brier_score(labels, scores, **given) == pytest.approx(squares, abs=within)
        assert calipers.brier_score(labels, scores, scale_by_half=True, **given) == pytest.approx(
            squares / 2, abs=within
        )
        assert calipers.brier_score(labels, scores, scale_by_half=False, **given) == pytest.approx(squares, abs=within)
    # Only where it is requested is the score that of the top class.
    top = calipers.log_loss(labels, p, multiclass="top_class", sample_weight=weight)
    right, confidence = p.argmax(axis=1) == labels, p.max(axis=1)
    expected = np.average(-np.where(right, np.log(confidence), np.log1p(-confidence)), weights=weight)
    assert top == pytest.approx(expected, abs=1e-12)


def test_scores_of_k_classes_are_assessed_and_compared() -> None:
    logits, labels, _ = class_rows(400, 4)
    found = calipers.assess(labels, logits, from_logits=True, measure="log_loss", n_resamples=100)
    value = calipers.log_loss(labels, logits, from_logits=True)
    assert found.estimate == value and found.estimate.settings["multiclass"] == "all_classes"
    assert found.interval.lower < value < found.interval.upper
    models = {"raw": logits, "cooled": logits / 3}
    compared = calipers.compare(labels, models, from_logits=True, measure="log_loss", n_resamples=100)
    cooled = calipers.log_loss(labels, logits / 3, from_logits=True)
    assert compared.pairs[0].difference == pytest.approx(value - cooled, abs=1e-12)
    assert compared.sentence.startswith("cooled has a smaller log loss than raw")
    cluster = np.arange(400) // 4
    of_clusters = calipers.assess(
        labels, logits, from_logits=True, measure="brier_score", n_resamples=100, cluster=cluster
    )
    assert of_clusters.n_clusters == 100 and of_clusters.floor is None


def test_all_classes_are_for_scores_alone() -> None:
    with pytest.raises(calipers.CalipersError, match="only brier_score and log_loss take all classes together"):
        calipers.ls_ece([2, 1], [[0.1, 0.1, 0.8], [0.4, 0.4, 0.2]], multiclass="all_classes")
    with pytest.raises(TypeError, match='scale_by_half must be True, False or "auto"'):
        calipers.brier_score([1, 0], [0.9, 0.4], scale_by_half=0.5)
    with pytest.raises(calipers.CalipersError, match="scale_by_half must be"):
        calipers.brier_score([1, 0], [0.9, 0.4], scale_by_half="half")


def test_ici_by_loess_is_the_local_polynomial() -> None:
    y, p, _ = case(3, 150, ties=False)
    gaps = []
    for x in p:
        distance = np.abs(p - x)
        h = np.sort(distance)[int(0.75 * 150) - 1]
        root = np.sqrt(np.clip(1 - (distance / h) ** 3, 0, None) ** 3)
        design = np.vander((p - x) / h, 3, increasing=True)
        fit, *_ = np.linalg.lstsq(design * root[:, None], y * root, rcond=None)
        gaps.append(abs(fit[0] - x))
    found = calipers.calibration_indices(y, p, smoother="loess")
    assert found.ici == pytest.approx(np.mean(gaps), abs=1e-9)
    assert found.emax == pytest.approx(np.max(gaps), abs=1e-9)
    assert found.smoother == "loess" and found.sigma is None
    named = calipers.assess(y, p, measure="ici", smoother="loess", n_resamples=20).estimate
    assert named == found.ici and named.settings["span"] == 0.75 and named.settings["degree"] == 2

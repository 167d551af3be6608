"""Every measure against a version that is written from its definition alone, and what all of them have in common."""

from __future__ import annotations

import inspect
import math
from typing import Any, TypeAlias

import calipers
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import interpolate, optimize, sparse, special, stats

Doubles: TypeAlias = NDArray[np.float64]
Case: TypeAlias = tuple[Doubles, Doubles, Doubles]


def case(seed: int, n: int, *, ties: bool = True) -> Case:
    """Outcomes, probabilities and weights; with ties, zeros, ones and rows without weight unless told."""
    rng = np.random.default_rng(seed)
    p = special.expit(rng.normal(0.2, 1.7, n))
    if ties:
        p = np.round(p, rng.integers(1, 4))
        p[rng.random(n) < 0.03] = 0.0
        p[rng.random(n) < 0.03] = 1.0
    y = (rng.random(n) < p ** rng.uniform(0.6, 1.6)).astype(float)
    y[:2] = 0, 1
    weight = rng.integers(0, 4, n).astype(float)
    weight[:2] = 1
    return y, p, weight


def pooled(y: Doubles, p: Doubles, weight: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """Distinct probabilities, and the shares of the weight with outcome 0 and 1 at each."""
    values, place = np.unique(p, return_inverse=True)
    share = weight / weight.sum()
    ones = np.bincount(place, share * y, len(values))
    return values, np.bincount(place, share, len(values)) - ones, ones


def golden() -> tuple[Doubles, Doubles]:
    """The rows with ties, zeros and ones for which others' figures are known: see fixtures/peers.py."""
    k = np.arange(1, 201)
    p = np.round((k * 0.6180339887498949) % 1, 2)
    y = ((k * 0.7548776662466927) % 1 < p + 0.2 * np.sin(2 * math.pi * p)).astype(float)
    p[np.argmax(p)], p[np.argmin(p)] = 1.0, 0.0
    return y, p


# Definitions.


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


def reflected(density: Any, t: Doubles, p: float, width: float) -> Doubles:
    """The kernel with its images at 0 and 1, some times."""
    images = (density((t + sign * p + 2 * k) / width) for k in range(-3, 4) for sign in (-1, 1))
    return np.asarray(sum(images) / width)


def triweight(u: Doubles) -> Doubles:
    return np.asarray(35 / 32 * np.maximum(0, 1 - (u / 3) ** 2) ** 3 / 3)


@pytest.mark.parametrize("width", [0.03, 0.2, 0.9])
def test_smoothed_errors_are_the_integrals(width: float) -> None:
    y, p, weight = case(3, 80)
    step = 1 / 8_000
    t = np.arange(step / 2, 1, step)
    share = weight / weight.sum()
    sums = {name: np.zeros_like(t) for name in ("residuals", "predictions", "triweight")}
    for y_i, p_i, s_i in zip(y, p, share, strict=True):
        gaussian = s_i * reflected(stats.norm.pdf, t, p_i, width)
        sums["residuals"] += (y_i - p_i) * gaussian
        sums["predictions"] += (y_i - t) * gaussian
        sums["triweight"] += s_i * (y_i - t) * reflected(triweight, t, p_i, width)
    expected = {name: np.abs(total).sum() * step for name, total in sums.items()}
    for smoothing in ("residuals", "predictions"):
        found = calipers.smooth_ece(y, p, sigma=width, smoothing=smoothing, sample_weight=weight)  # type: ignore[arg-type]
        assert found == pytest.approx(expected[smoothing], abs=1e-7)
        assert found.numerical_bound <= 1e-9
    found = calipers.kde_ece(y, p, bandwidth=width, sample_weight=weight)
    assert found == pytest.approx(expected["triweight"], abs=1e-7)
    found = calipers.kde_ece(y, p, kernel="gaussian", bandwidth=width, sample_weight=weight)
    assert found == pytest.approx(expected["predictions"], abs=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_smooth_ece_is_its_own_width(seed: int) -> None:
    y, p, weight = case(seed, 300)
    found = calipers.smooth_ece(y, p, sample_weight=weight)
    assert found.settings["sigma"] == pytest.approx(found, abs=1e-9)
    assert calipers.smooth_ece(y, p, sigma=float(found), sample_weight=weight) == pytest.approx(found, abs=3e-9)


@pytest.mark.parametrize("bandwidth", [0.005, 0.1])
def test_beta_kde_ece_leaves_each_row_out(bandwidth: float) -> None:
    y, p, weight = case(4, 120)
    p = np.clip(p, 1e-6, 1 - 1e-6)
    kernel = stats.beta.pdf(p[:, None], p / bandwidth + 1, (1 - p) / bandwidth + 1) * weight
    np.fill_diagonal(kernel, 0)
    gaps = np.abs(kernel @ y / kernel.sum(axis=1) - p)
    share = weight / weight.sum()
    found = calipers.beta_kde_ece(y, p, bandwidth=bandwidth, sample_weight=weight)
    assert found == pytest.approx(share @ gaps, abs=1e-8)
    found = calipers.beta_kde_ece(y, p, bandwidth=bandwidth, norm="l2", sample_weight=weight)
    assert found == pytest.approx(math.sqrt(share @ gaps**2), abs=1e-8)


def test_beta_kde_ece_finds_a_bandwidth() -> None:
    y, p, _ = case(4, 120, ties=False)
    assert 1e-5 <= calipers.beta_kde_ece(y, p).settings["bandwidth"] <= 1


@pytest.fixture(scope="module")
def classes() -> tuple[NDArray[np.int64], Doubles]:
    rng = np.random.default_rng(8)
    scores = rng.normal(0, 1.5, (150, 4))
    return (scores + rng.gumbel(0, 1, scores.shape)).argmax(axis=1), scores


def test_canonical_kde_ece_compares_vectors(classes: tuple[NDArray[np.int64], Doubles]) -> None:
    labels, scores = classes
    p = special.softmax(scores, axis=1)
    weight = np.arange(150) % 3 + 1.0
    h, is_class = 0.05, np.eye(4)[labels]
    kernel = np.array([[stats.dirichlet.pdf(at, row / h + 1) for row in p] for at in p]) * weight
    np.fill_diagonal(kernel, 0)
    gaps = np.abs(kernel @ is_class / kernel.sum(axis=1, keepdims=True) - p)
    share = weight / weight.sum()
    found = calipers.canonical_kde_ece(labels, p, bandwidth=h, sample_weight=weight)
    assert found == pytest.approx(share @ gaps.sum(axis=1), abs=1e-9)
    assert "multiclass" not in found.settings
    found = calipers.canonical_kde_ece(labels, scores, bandwidth=h, norm="l2", from_logits=True, sample_weight=weight)
    assert found == pytest.approx(math.sqrt(share @ (gaps**2).sum(axis=1)), abs=1e-9)


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


def weighted_quantile(values: Doubles, weight: Doubles, level: float) -> float:
    """Of as many copies as the weight says: the mean of both sides where the level falls between two."""
    copies = np.sort(np.repeat(values, weight.astype(int)))
    return float(np.quantile(copies, level, method="averaged_inverted_cdf"))


@pytest.mark.parametrize("noise", ["gaussian", "epanechnikov"])
def test_calibration_indices_are_gaps_of_the_curve_at_the_rows(noise: Any) -> None:
    y, p, weight = case(2, 150)
    h = special.logit(np.clip(p, 1e-6, 1 - 1e-6))
    u = (h[:, None] - h) / 0.4
    kernel = weight * (np.exp(-(u**2) / 2) if noise == "gaussian" else np.maximum(0, 1 - u**2))
    gaps = np.abs(kernel @ y / kernel.sum(axis=1) - np.clip(p, 1e-6, 1 - 1e-6))
    found = calipers.calibration_indices(y, p, sigma=0.4, noise=noise, sample_weight=weight)
    assert found.ici == pytest.approx(weight @ gaps / weight.sum(), abs=1e-9)
    assert found.e50 == pytest.approx(weighted_quantile(gaps, weight, 0.5), abs=1e-9)
    assert found.e90 == pytest.approx(weighted_quantile(gaps, weight, 0.9), abs=1e-9)
    assert found.emax == pytest.approx(gaps[weight > 0].max(), abs=1e-9)
    assert (found.n, found.sigma) == (150, 0.4)
    assert found.n_clipped == np.sum((p == 0) | (p == 1))


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


# Linear programs, by a solver of another kind.

EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def smooth_by_linear_program(y: Doubles, p: Doubles, weight: Doubles) -> float:
    """Every pair of probabilities has its constraint, as in the definition."""
    values, zeros, ones = pooled(y, p, weight)
    first, second = np.triu_indices(len(values), 1)
    rows = sparse.csr_matrix(np.eye(len(values))[first] - np.eye(len(values))[second])
    limits = values[second] - values[first]
    residuals = ones * (1 - values) - zeros * values
    if len(first) == 0:
        return float(abs(residuals.sum()))
    solved = optimize.linprog(
        -residuals,
        sparse.vstack([rows, -rows]),
        np.concatenate([limits, limits]),
        bounds=(-1, 1),
        method="highs",
        options=EXACT,
    )
    return float(-solved.fun)


def lower_distance_by_linear_program(y: Doubles, p: Doubles, weight: Doubles, n_even: int) -> float:
    """The dual on a grid that has all probabilities: never below the distance, above by at most 1 / (2 n_even²)."""
    values, zeros, ones = pooled(y, p, weight)
    nodes = np.unique(np.concatenate([values, np.linspace(0, 1, n_even + 1)]))
    n = len(nodes)
    steps = sparse.diags_array([np.full(n - 1, -1.0), np.ones(n - 1)], offsets=[0, 1], shape=(n - 1, n))
    chains = sparse.block_diag([steps, steps])
    calibrated = sparse.hstack([sparse.diags_array(1 - nodes), sparse.diags_array(nodes)])
    gains = np.zeros(2 * n)
    place = np.searchsorted(nodes, values)
    gains[place], gains[n + place] = zeros, ones
    limits = np.tile(np.diff(nodes), 2)
    solved = optimize.linprog(
        -gains,
        sparse.vstack([chains, -chains, calibrated]).tocsr(),
        np.concatenate([limits, limits, np.zeros(n)]),
        bounds=(-2, 2),
        method="highs",
        options=EXACT,
    )
    return float(-solved.fun)


@pytest.mark.parametrize("seed", range(200))
def test_distances_are_the_optima_of_their_linear_programs(seed: int) -> None:
    n = 2 + seed % 39
    y, p, weight = case(seed, n, ties=seed % 4 != 0)
    smooth = calipers.smooth_calibration_error(y, p, sample_weight=weight)
    assert smooth == pytest.approx(smooth_by_linear_program(y, p, weight), abs=1e-8)
    lower = calipers.lower_distance_to_calibration(y, p, sample_weight=weight)
    optimum, excess = lower_distance_by_linear_program(y, p, weight, 200), 0.5 / 200**2
    assert optimum - excess - 1e-9 <= lower + lower.numerical_bound
    assert lower - lower.numerical_bound <= optimum + 1e-9
    assert lower.numerical_bound < 1e-6
    assert smooth / 2 - 1e-9 <= lower + lower.numerical_bound
    assert lower - lower.numerical_bound <= 2 * smooth + 1e-9


# Figures of others on the same 200 rows: fixtures/peers.py and the design notes.

GOLDEN: list[tuple[str, dict[str, Any], float]] = [
    ("ecce_r", {}, 0.0684),
    ("ecce_mad", {}, 0.05335),
    ("brier_score", {}, 0.2213405),
    ("mmce", {}, 0.054448391),
    ("kernel_calibration_error", {}, 0.043062679),
    ("smooth_ece", {"compat": "relplot"}, 0.101947801),
    ("smooth_ece", {"compat": "relplot", "sigma": 0.02}, 0.118030127),
    ("smooth_ece", {"compat": "relplot", "sigma": 0.05}, 0.110646103),
    ("smooth_ece", {"compat": "relplot", "sigma": 0.2}, 0.08279313),
    ("debiased_ece", {"compat": "uncertainty-calibration"}, 0.065216592),
    ("expected_calibration_error", {"compat": "uncertainty-calibration"}, 0.11865),
    ("expected_calibration_error", {"compat": "uncertainty-calibration", "strategy": "quantile"}, 0.12775),
    ("expected_calibration_error", {"compat": "relplot", "n_bins": 10}, 0.11765),
]


@pytest.mark.parametrize(("name", "options", "expected"), GOLDEN)
def test_golden_figures(name: str, options: dict[str, Any], expected: float) -> None:
    assert getattr(calipers, name)(*golden(), **options) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("n_bins", "expected"), [(2, 0.009886959), (4, 0.007761995), (8, 0.008501878), (16, 0.001760308)]
)
def test_golden_figures_of_tcal(n_bins: int, expected: float) -> None:
    """T-Cal gives a probability of 1 a bin of its own. There is one, which has no pair and adds nothing but to n."""
    y, p = golden()
    found = calipers.tcal_squared_error(y[p < 1], p[p < 1], n_bins=n_bins)
    assert found * 199 / 200 == pytest.approx(expected, abs=1e-9)


def test_golden_parts_of_the_brier_score() -> None:
    parts = calipers.corp(*golden())
    assert parts.miscalibration == pytest.approx(0.023258874, abs=1e-9)
    assert parts.discrimination == pytest.approx(0.051818374, abs=1e-9)
    assert parts.uncertainty == pytest.approx(0.2499, abs=1e-12)


# What all measures have in common.

SKIPPED = {"ls_curve", "cumulative_curve", "spline_curve", "calibration_bins", "measures", "ls_ece_sampled"}
OF_CLASSES = {"canonical_kde_ece", "top_label_calibration_error"}
NAMES = [name for name in calipers.__all__ if inspect.isfunction(getattr(calipers, name)) and name not in SKIPPED]
BINARY = [name for name in NAMES if name not in OF_CLASSES]
# A row is compared with others, or with chance: twice its weight is not the row twice.
BY_ROW = {"beta_kde_ece", "debiased_ece", "tcal_squared_error", "sweep_ece"}
# Widths by rule depend on the number of rows.
FIXED: dict[str, dict[str, Any]] = {
    "ls_ece": {"sigma": 0.3},
    "kde_ece": {"bandwidth": 0.1},
    "calibration_indices": {"sigma": 0.3},
    "beta_kde_ece": {"bandwidth": 0.05},
}


def figures(name: str, *arguments: Any, **options: Any) -> list[float]:
    """The value, or the parts of a result that has several."""
    found = getattr(calipers, name)(*arguments, **FIXED.get(name, {}), **options)
    if isinstance(found, calipers.Estimate):
        return [float(found)]
    counts = ("n", "n_clipped", "left_out")
    return [value for key, value in vars(found).items() if key not in counts and not key.endswith("_bound")]


def near(expected: list[float], within: float = 1e-8) -> Any:
    return pytest.approx(expected, abs=within, rel=within)


@pytest.mark.parametrize("name", [name for name in BINARY if name not in BY_ROW])
def test_a_weight_is_a_number_of_rows(name: str) -> None:
    y, p, weight = case(21, 120)
    copies = weight.astype(int)
    assert figures(name, y, p, sample_weight=weight) == near(figures(name, np.repeat(y, copies), np.repeat(p, copies)))


@pytest.mark.parametrize("name", BINARY)
def test_neither_order_nor_scale_of_weights_matters(name: str) -> None:
    y, p, weight = case(22, 120)
    order = np.random.default_rng(0).permutation(120)
    expected = figures(name, y, p, sample_weight=weight)
    assert figures(name, y[order], p[order], sample_weight=weight[order]) == near(expected, 1e-12)
    if name != "cox_calibration":  # its standard errors count rows
        assert figures(name, y, p, sample_weight=7 * weight) == near(expected)


@pytest.mark.parametrize("name", BINARY)
def test_raw_scores_are_probabilities_by_their_link(name: str) -> None:
    y, p, _ = case(23, 120, ties=False)
    links: dict[str, Any] = {"logistic": special.logit, "probit": special.ndtri}
    for link, inverse in links.items():
        if link != "logistic" and (name == "cox_calibration" or name in FIXED):
            continue  # these work on the logits themselves, or the width belongs to the link
        by_scores = figures(name, y, inverse(p), from_logits=True, **({} if link == "logistic" else {"link": link}))
        assert by_scores == near(figures(name, y, p), 1e-7)


@pytest.mark.parametrize("name", BINARY)
def test_class_by_class_is_the_mean_or_refused(name: str, classes: tuple[NDArray[np.int64], Doubles]) -> None:
    labels, scores = classes
    p = special.softmax(scores, axis=1)
    if name in ("corp", "calibration_indices", "cox_calibration"):
        with pytest.raises(calipers.CalipersError, match="multiclass must be"):
            figures(name, labels, p, multiclass="classwise")
        assert figures(name, labels, p, multiclass=1) == near(figures(name, labels == 1, p[:, 1]))
        return
    found = getattr(calipers, name)(labels, p, multiclass="classwise", **FIXED.get(name, {}))
    each = [getattr(calipers, name)(labels == k, p[:, k], **FIXED.get(name, {})) for k in range(4)]
    assert found == pytest.approx(np.mean(each), abs=1e-8)
    assert [float(of_class) for of_class in found.per_class] == near([float(of_class) for of_class in each])


@pytest.mark.parametrize("name", NAMES)
def test_bad_rows_are_refused_or_counted(name: str) -> None:
    y, p, _ = case(24, 50, ties=False)
    options: dict[str, Any] = {}
    if name in OF_CLASSES:
        p = np.stack([1 - p, p], axis=1)
        options = {"bandwidth": 0.1} if name == "canonical_kde_ece" else {}
    p[7] = np.nan
    with pytest.raises(calipers.CalipersError, match="row 7") as refused:
        getattr(calipers, name)(y, p, **options)
    assert refused.value.code == "invalid_probability"
    found = getattr(calipers, name)(y, p, invalid="count", **options)
    assert (found.n, found.left_out) == (49, {"invalid probability": 1})


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name not in ("corp", "calibration_indices", "cox_calibration")]
)
def test_an_estimate_says_what_made_it(name: str) -> None:
    y, p, _ = case(25, 60, ties=False)
    options: dict[str, Any] = {}
    if name in OF_CLASSES:
        p = np.stack([1 - p, p], axis=1)
        options = {"bandwidth": 0.1} if name == "canonical_kde_ece" else {}
    found = getattr(calipers, name)(y, p, **options)
    assert found.n == 60
    assert 0 <= found.numerical_bound < 1e-6
    assert math.isfinite(found)
    signature = inspect.signature(getattr(calipers, name)).parameters
    assert set(found.settings) >= set(signature) & {"from_logits", "link", "ties", "sum_tolerance", "invalid"}


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("smooth_ece", {"sigma": "wide"}, "sigma must be"),
        ("smooth_ece", {"sigma": -1}, "sigma must be"),
        ("smooth_ece", {"smoothing": "all"}, "smoothing must be"),
        ("smooth_ece", {"compat": "netcal"}, "must be"),
        ("smooth_ece", {"tolerance": -1}, "tolerance must be"),
        ("kde_ece", {"kernel": "cosine"}, "kernel must be"),
        ("kde_ece", {"bandwidth": 0}, "bandwidth must be"),
        ("beta_kde_ece", {"bandwidth": math.nan}, "bandwidth must be"),
        ("beta_kde_ece", {"norm": "max"}, "norm must be"),
        ("debiased_ece", {"norm": "max"}, "norm must be"),
        ("debiased_ece", {"n_bins": 0}, "n_bins must be"),
        ("sweep_ece", {"norm": "max"}, "norm must be"),
        ("sweep_ece", {"max_bins": 0}, "max_bins must be"),
        ("tcal_squared_error", {"n_bins": 0}, "n_bins must be"),
        ("kernel_calibration_error", {"length_scale": 0}, "length_scale must be"),
        ("lower_distance_to_calibration", {"n_nodes": 0}, "n_nodes must be"),
        ("corp", {"score": "spherical"}, "score must be"),
        ("cox_calibration", {"clip": 0.7}, "clip must be"),
        ("calibration_indices", {"sigma": 0}, "sigma must be"),
        ("canonical_kde_ece", {"bandwidth": 0.1}, "multiclass must be left out for a plain column"),
        ("top_label_calibration_error", {}, "multiclass must be left out for a plain column"),
    ],
)
def test_options_that_make_no_sense_are_refused(name: str, options: dict[str, Any], text: str) -> None:
    y, p, _ = case(26, 30)
    with pytest.raises(calipers.CalipersError, match=text) as refused:
        getattr(calipers, name)(y, p, **options)
    assert refused.value.code in ("invalid_setting", "tolerance_not_met")


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("smooth_ece", {"sigma": None}, 'sigma must be a number or "auto", got NoneType'),
        ("kde_ece", {"bandwidth": [1]}, 'bandwidth must be a number or "auto", got list'),
        ("sweep_ece", {"max_bins": 2.5}, "max_bins must be an integer, got float"),
        ("mmce", {"link": 3}, "link must be text, got int"),
        ("debiased_ece", {"compat": 1}, "compat must be text or None, got int"),
    ],
)
def test_options_of_a_wrong_type_are_type_errors(name: str, options: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeError) as refused:
        getattr(calipers, name)([1, 0], [0.7, 0.2], **options)
    assert str(refused.value) == text


def test_too_many_products_are_refused_before_they_are_taken() -> None:
    with pytest.raises(calipers.CalipersError, match="limit must be at least 40 for 2 rows of 2 classes"):
        calipers.canonical_kde_ece([0, 1], [[0.6, 0.4], [0.2, 0.8]], bandwidth=0.1, limit=39)


def test_perfectly_separated_outcomes_have_no_cox_regression() -> None:
    with pytest.raises(calipers.CalipersError):
        calipers.cox_calibration([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9])


def test_every_listed_measure_has_a_function() -> None:
    y, p, _ = case(27, 200, ties=False)
    parts = {
        "corp_miscalibration": calipers.corp(y, p).miscalibration,
        **{name: getattr(calipers.calibration_indices(y, p), name) for name in ("ici", "e50", "e90", "emax")},
        "spline_ece": calipers.spline_calibration_error(y, p),
        "calibration_slope": calipers.cox_calibration(y, p).slope,
        "calibration_intercept": calipers.cox_calibration(y, p).intercept,
        "calibration_in_the_large": calipers.cox_calibration(y, p).in_the_large,
    }
    listed = calipers.measures()
    for measure in listed:
        assert measure.definition
        value = parts[measure.name] if measure.name in parts else getattr(calipers, measure.name)(y, p)
        assert math.isfinite(value)
    of_other_names = {"corp", "calibration_indices", "cox_calibration", "spline_calibration_error"}
    assert set(BINARY) - {measure.name for measure in listed} == of_other_names


# Nothing escapes but a refusal.

probabilities = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 0.5, 5e-324, 1e-300, 1 - 2**-53, 0.1, 0.3]))
weights = st.one_of(st.floats(0, 10), st.sampled_from([0.0, 1.0, 5e-324, 1e-300, 1e300]))
rows = st.lists(st.tuples(st.integers(0, 1), probabilities, weights), min_size=1, max_size=12)


@settings(deadline=None, derandomize=True, max_examples=20)
@given(rows, st.booleans())
@pytest.mark.parametrize("name", NAMES)
def test_hard_rows_are_measured_or_refused(name: str, rows: list[tuple[int, float, float]], weighted: bool) -> None:
    """A CalipersError or finite figures; no other exception, no warning and no panic."""
    y, p, weight = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    options: dict[str, Any] = {"sample_weight": weight} if weighted else {}
    if name in OF_CLASSES:
        p = np.stack([1 - p, p], axis=1)
    if name == "canonical_kde_ece":
        options["bandwidth"] = 0.1
    try:
        found = getattr(calipers, name)(y, p, **options)
    except calipers.CalipersError:
        return
    if isinstance(found, calipers.Estimate):
        assert math.isfinite(found)
        assert 0 <= found.numerical_bound < math.inf
        if name not in ("log_loss", "observed_expected", "canonical_kde_ece"):
            assert -1 - 1e-9 <= found <= 1 + 1e-6
    else:
        assert not any(isinstance(value, float) and math.isnan(value) for value in vars(found).values())

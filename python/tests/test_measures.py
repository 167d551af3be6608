"""The measures against naive versions, written here from the formulas, and the properties that must hold."""

from __future__ import annotations

from typing import Any, TypeAlias

import calipers
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

Doubles: TypeAlias = NDArray[np.float64]

settings.register_profile("calipers", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("calipers")


def logistic(u: Doubles) -> Doubles:
    return 1 / (1 + np.exp(-u))


def logit(p: Doubles) -> Doubles:
    return np.log(p) - np.log1p(-p)


DENSITIES: dict[str, Any] = {
    "gaussian": lambda x: np.exp(-x * x / 2) / np.sqrt(2 * np.pi),
    "uniform": lambda x: (np.abs(x) <= 0.5).astype(float),
    "laplace": lambda x: np.exp(-np.abs(x)) / 2,
    "logistic": lambda x: 1 / (2 * np.cosh(x / 2)) ** 2,
    "epanechnikov": lambda x: 0.75 * np.maximum(1 - x * x, 0),
}


def naive_ls_ece(y: Doubles, p: Doubles, sigma: float, noise: str = "gaussian", weight: Doubles | None = None) -> float:
    """The integral of |G| by the midpoint rule on a grid that is far finer than the noise."""
    h = logit(np.clip(p, 1e-6, 1 - 1e-6))
    shares = np.full(len(y), 1 / len(y)) if weight is None else weight / weight.sum()
    reach = sigma * {"laplace": 40, "logistic": 40, "gaussian": 9}.get(noise, 1.01)
    edges = np.linspace(h.min() - reach, h.max() + reach, 100_001)
    middles, step = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
    total = np.zeros_like(middles)
    for h_i, y_i, share in zip(h, y, shares, strict=True):
        total += share * (y_i - logistic(middles)) * DENSITIES[noise]((middles - h_i) / sigma) / sigma
    return float(np.abs(total).sum() * step)


def naive_ece(y: Doubles, p: Doubles, n_bins: int, norm: str = "l1") -> float:
    """Bin by bin: (a, b], the first closed."""
    gaps, shares = [], []
    for k in range(n_bins):
        inside = (p > k / n_bins) & (p <= (k + 1) / n_bins)
        if k == 0:
            inside |= p == 0
        if inside.any():
            gaps.append(abs(y[inside].mean() - p[inside].mean()))
            shares.append(inside.mean())
    if norm == "max":
        return float(max(gaps))
    power = {"l1": 1, "l2": 2}[norm]
    return float(np.dot(shares, np.power(gaps, power)) ** (1 / power))


@pytest.fixture(scope="module")
def rows() -> tuple[Doubles, Doubles]:
    rng = np.random.default_rng(11)
    p = logistic(rng.normal(0.3, 1.5, 60))
    return (rng.random(60) < p**1.3).astype(float), p


@pytest.fixture(scope="module")
def classes() -> tuple[NDArray[np.int64], Doubles]:
    rng = np.random.default_rng(12)
    scores = rng.normal(0, 2, (300, 4))
    noisy = scores + rng.normal(0, 2, (300, 4))
    return noisy.argmax(axis=1), scores


def softmax(scores: Doubles) -> Doubles:
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True))


# Definitions.


@pytest.mark.parametrize("sigma", [1.0, 0.2, 0.05])
@pytest.mark.parametrize("noise", DENSITIES)
def test_ls_ece_is_the_integral(rows: tuple[Doubles, Doubles], noise: Any, sigma: float) -> None:
    y, p = rows
    estimate = calipers.ls_ece(y, p, sigma=sigma, noise=noise)
    # The midpoint rule is off by one cell at each of the 120 jumps of uniform noise.
    naive_error = {"uniform": 2e-4, "laplace": 1e-6}.get(noise, 1e-7)
    assert estimate.numerical_bound <= 1e-6
    assert abs(estimate - naive_ls_ece(y, p, sigma, noise)) <= estimate.numerical_bound + naive_error


def test_ls_ece_with_weights_is_the_weighted_integral(rows: tuple[Doubles, Doubles]) -> None:
    y, p = rows
    weight = np.linspace(0, 3, 60)
    estimate = calipers.ls_ece(y, p, sigma=0.2, sample_weight=weight)
    assert abs(estimate - naive_ls_ece(y, p, 0.2, weight=weight)) <= estimate.numerical_bound + 1e-7


def test_uniform_noise_by_hand() -> None:
    """One row at logit 0 with outcome 1 and noise in [-1/2, 1/2]: the integral of 1 - rho is 1/2."""
    estimate = calipers.ls_ece([1], [0.5], sigma=1.0, noise="uniform")
    assert abs(estimate - 0.5) <= estimate.numerical_bound <= 1e-6


def test_the_rule_for_sigma(rows: tuple[Doubles, Doubles]) -> None:
    y, p = rows
    h = np.sort(logit(p))
    spread = min(h.std(), (h[44] - h[14]) / 1.349)
    assert calipers.ls_ece(y, p).settings["sigma"] == pytest.approx(spread * 60 ** (-1 / 3), rel=0.05)


def test_sampling_is_within_its_standard_error(rows: tuple[Doubles, Doubles]) -> None:
    y, p = rows
    exact = calipers.ls_ece(y, p, sigma=0.1)
    sampled = calipers.ls_ece_sampled(y, p, sigma=0.1, n_samples=20_000, random_state=3)
    assert sampled.standard_error is not None
    assert 0 < sampled.standard_error < 0.01
    assert abs(sampled - exact) < 4 * sampled.standard_error
    assert sampled == calipers.ls_ece_sampled(y, p, sigma=0.1, n_samples=20_000, random_state=3)
    assert sampled != calipers.ls_ece_sampled(y, p, sigma=0.1, n_samples=20_000, random_state=4)


@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
@pytest.mark.parametrize("n_bins", [1, 10, 15])
def test_binned_ece_bin_by_bin(rows: tuple[Doubles, Doubles], n_bins: int, norm: Any) -> None:
    y, p = rows
    p = np.append(p, [0.0, 1.0, 0.3, 0.1])
    y = np.append(y, [0.0, 1.0, 1.0, 0.0])
    estimate = calipers.expected_calibration_error(y, p, n_bins=n_bins, norm=norm)
    assert estimate == pytest.approx(naive_ece(y, p, n_bins, norm), abs=1e-14)


def test_figures_of_other_tools() -> None:
    """The golden rows: ties, edge hits, 0 and 1. Values from scikit-learn, netcal and torchmetrics."""
    k = np.arange(1, 201)
    p = np.round((k * 0.6180339887498949) % 1, 2)
    y = (k * 0.7548776662466927) % 1 < p + 0.2 * np.sin(2 * np.pi * p)
    p[p.argmax()], p[p.argmin()] = 1.0, 0.0
    figures: list[tuple[Any, int, float]] = [
        (None, 10, 0.11155),
        ("sklearn", 10, 0.11155),
        ("netcal", 10, 0.11765),
        ("torchmetrics", 10, 0.11765),
        (None, 15, 0.11865),
    ]
    for compat, n_bins, expected in figures:
        estimate = calipers.expected_calibration_error(y, p, n_bins=n_bins, compat=compat)
        assert estimate == pytest.approx(expected, abs=1e-7 if compat == "torchmetrics" else 1e-12)
        assert estimate.settings["compat"] == compat


def test_the_table_adds_up_to_the_figure(rows: tuple[Doubles, Doubles]) -> None:
    y, p = rows
    weight = np.linspace(0.5, 2, 60)
    table = calipers.calibration_bins(y, p, n_bins=7, sample_weight=weight)
    total = sum(row.weight for row in table)
    gaps = [row.weight / total * abs(row.outcome_rate - row.mean_probability) for row in table if row.n]
    ece = calipers.expected_calibration_error(y, p, n_bins=7, sample_weight=weight)
    assert sum(gaps) == pytest.approx(ece, abs=1e-14)
    assert sum(row.n for row in table) == 60
    assert [row.upper for row in table] == [k / 7 for k in range(1, 8)]


def test_the_curve_integrates_to_ls_ece(rows: tuple[Doubles, Doubles]) -> None:
    y, p = rows
    t = (np.arange(20_000) + 0.5) / 20_000
    curve = calipers.ls_curve(y, p, at=t, sigma=0.3)
    assert curve.sigma == 0.3
    some = curve.densities > curve.density_bounds
    gap = np.where(some, np.abs(curve.outcome_rates - t), 0)
    assert np.mean(curve.densities) == pytest.approx(1, abs=1e-4)
    assert np.mean(gap * curve.densities) == pytest.approx(calipers.ls_ece(y, p, sigma=0.3), abs=1e-5)


def test_the_curve_has_201_points_unless_asked(rows: tuple[Doubles, Doubles]) -> None:
    curve = calipers.ls_curve(*rows)
    assert curve.probabilities.shape == curve.density_bounds.shape == (201,)
    assert curve.probabilities[100] == 0.5
    assert np.diff(curve.probabilities) == pytest.approx(1 / 202)


# Classes.


def test_top_class_is_the_default_for_many_classes(classes: tuple[Any, Doubles]) -> None:
    labels, scores = classes
    p = softmax(scores)
    binary = calipers.ls_ece(p.argmax(axis=1) == labels, p.max(axis=1), sigma=0.2)
    for options in ({}, {"multiclass": "top_class"}):
        estimate = calipers.ls_ece(labels, p, sigma=0.2, **options)
        assert estimate == binary
        assert estimate.settings["multiclass"] == "top_class"


def test_one_class_is_that_class_against_the_rest(classes: tuple[Any, Doubles]) -> None:
    labels, scores = classes
    p = softmax(scores)
    for k in range(4):
        assert calipers.ls_ece(labels, p, sigma=0.2, multiclass=k) == calipers.ls_ece(labels == k, p[:, k], sigma=0.2)


@pytest.mark.parametrize("measure", [calipers.ls_ece, calipers.ls_ece_sampled, calipers.expected_calibration_error])
def test_classwise_is_the_mean_over_classes(classes: tuple[Any, Doubles], measure: Any) -> None:
    labels, scores = classes
    estimate = measure(labels, softmax(scores), multiclass="classwise")
    alone = [measure(labels, softmax(scores), multiclass=k) for k in range(4)]
    assert estimate.per_class == tuple(alone)
    assert [each.to_dict() for each in estimate.per_class] == [each.to_dict() for each in alone]
    assert abs(estimate - np.mean(alone)) <= 1e-15
    assert estimate.numerical_bound >= np.mean([each.numerical_bound for each in alone])
    assert estimate.n == 300


def test_raw_scores_agree_with_their_softmax(classes: tuple[Any, Doubles]) -> None:
    labels, scores = classes
    for multiclass in ("top_class", "classwise", 2):
        options: dict[str, Any] = {"multiclass": multiclass, "sigma": 0.2, "clip": 1e-12}
        raw = calipers.ls_ece(labels, scores, from_logits=True, **options)
        soft = calipers.ls_ece(labels, softmax(scores), **options)
        assert abs(raw - soft) <= raw.numerical_bound + soft.numerical_bound
        assert raw.n_clipped == 0


def test_raw_scores_do_not_saturate() -> None:
    """In float32 the softmax of these rows is exactly 1; their logits are 40 and 60."""
    scores = np.array([[40.0, 0.0], [0.0, 60.0]], dtype=np.float32)
    estimate = calipers.ls_ece([0, 1], scores, from_logits=True, multiclass="top_class", sigma=0.1)
    assert estimate.n_clipped == 0
    assert estimate <= estimate.numerical_bound
    curve = calipers.ls_curve([0, 1], scores, from_logits=True, multiclass="top_class", sigma=0.1, at=[0.5])
    assert curve.densities[0] <= curve.density_bounds[0]


def test_ties_are_counted_and_settled_as_asked() -> None:
    rows = [[0.4, 0.4, 0.2], [0.1, 0.2, 0.7]]
    first = calipers.expected_calibration_error([1, 2], rows, n_bins=1)
    either = calipers.expected_calibration_error([1, 2], rows, n_bins=1, ties="any")
    assert (first, either) == (pytest.approx(abs(0.5 - 0.55)), pytest.approx(abs(1 - 0.55)))
    assert first.n_ties == either.n_ties == 1


@pytest.mark.parametrize("link", ["logistic", "probit", "cloglog"])
def test_binary_raw_scores_go_through_the_link(link: Any) -> None:
    curve = calipers.ls_curve(
        [0, 1], [0.0, 0.0], from_logits=True, link=link, sigma=0.05, at=np.linspace(0.01, 0.99, 99)
    )
    response = {"logistic": 0.5, "probit": 0.5, "cloglog": 1 - np.exp(-1)}[link]
    assert curve.probabilities[curve.densities.argmax()] == pytest.approx(response, abs=0.02)


# Properties.

some_rows = st.lists(
    st.tuples(st.booleans(), st.floats(0, 1, width=32), st.integers(1, 4)), min_size=1, max_size=30
).map(lambda rows: tuple(np.array(column) for column in zip(*rows, strict=True)))
sigmas = st.sampled_from([0.02, 0.1, 0.5, 2.0])
noises = st.sampled_from(["gaussian", "uniform", "laplace"])


@given(some_rows, sigmas, noises)
def test_float32_gives_the_bits_of_float64(rows: Any, sigma: float, noise: Any) -> None:
    y, p, _ = rows
    double = calipers.ls_ece(y, p, sigma=sigma, noise=noise)
    assert calipers.ls_ece(y, p.astype(np.float32), sigma=sigma, noise=noise) == double
    assert calipers.ls_ece(y.astype(np.float32), p.tolist(), sigma=sigma, noise=noise) == double


@given(some_rows, sigmas, noises)
def test_weight_2_equals_a_repeated_row(rows: Any, sigma: float, noise: Any) -> None:
    y, p, count = rows
    weighted = calipers.ls_ece(y, p, sigma=sigma, noise=noise, sample_weight=count)
    repeated = calipers.ls_ece(np.repeat(y, count), np.repeat(p, count), sigma=sigma, noise=noise)
    assert abs(weighted - repeated) <= weighted.numerical_bound + repeated.numerical_bound
    ece = calipers.expected_calibration_error(y, p, sample_weight=count)
    assert ece == pytest.approx(
        calipers.expected_calibration_error(np.repeat(y, count), np.repeat(p, count)), abs=1e-14
    )


@given(some_rows)
def test_weight_2_equals_a_repeated_row_for_the_rule_of_sigma(rows: Any) -> None:
    y, p, _ = rows
    twice = calipers.ls_ece(np.repeat(y, 2), np.repeat(p, 2)).settings["sigma"]
    once = calipers.ls_ece(y, p, sample_weight=np.full(len(y), 2.0)).settings["sigma"]
    # The effective sample size of equal weights is the number of rows: only n differs.
    assert once == pytest.approx(twice * 2 ** (1 / 3), rel=1e-9)


@given(some_rows, sigmas, noises)
def test_class_1_equals_class_0_of_the_complement(rows: Any, sigma: float, noise: Any) -> None:
    y, p, _ = rows
    both = np.stack([1 - p, p], axis=1)
    one = calipers.ls_ece(y, both, sigma=sigma, noise=noise, multiclass=1)
    zero = calipers.ls_ece(y, both, sigma=sigma, noise=noise, multiclass=0)
    assert abs(one - zero) <= one.numerical_bound + zero.numerical_bound


@given(some_rows, sigmas, noises, st.randoms(use_true_random=False))
def test_row_order_changes_nothing(rows: Any, sigma: float, noise: Any, random: Any) -> None:
    y, p, _ = rows
    order = list(range(len(y)))
    random.shuffle(order)
    shuffled = calipers.ls_ece(y[order], p[order], sigma=sigma, noise=noise)
    assert shuffled == pytest.approx(calipers.ls_ece(y, p, sigma=sigma, noise=noise), abs=1e-12)


@given(some_rows, st.integers(1, 40), st.sampled_from(["l1", "l2", "max"]))
def test_binned_ece_is_that_of_the_naive_version(rows: Any, n_bins: int, norm: Any) -> None:
    y, p, _ = rows
    estimate = calipers.expected_calibration_error(y, p, n_bins=n_bins, norm=norm)
    assert estimate == pytest.approx(naive_ece(y.astype(float), p, n_bins, norm), abs=1e-12)
    assert 0 <= estimate <= 1


@given(some_rows, sigmas)
def test_ls_ece_is_at_least_the_gap_of_the_means(rows: Any, sigma: float) -> None:
    """|∫G| <= ∫|G|, and ∫G is the outcome rate less the mean smoothed probability."""
    y, p, _ = rows
    estimate = calipers.ls_ece(y, p, sigma=sigma)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    h = logit(np.clip(p, 1e-6, 1 - 1e-6))
    smoothed = logistic(h[:, None] + sigma * nodes) @ (weights / weights.sum())
    assert abs(y.mean() - smoothed.mean()) <= estimate + estimate.numerical_bound + 1e-9
    assert estimate <= 1

"""Measures by kernels against their integrals and sums over all rows, written from the definitions alone."""

from __future__ import annotations

import math
from typing import Any

import calipers
import numpy as np
import pytest
from cases import Doubles, case
from numpy.typing import NDArray
from scipy import special, stats


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


@pytest.mark.parametrize("sigma", [0.1, 0.7])
def test_residual_ls_ece_is_the_integral_of_smoothed_residuals(sigma: float) -> None:
    y, p, weight = case(3, 80)
    p = np.clip(p, 0.001, 0.999)
    u = np.linspace(-13.0, 13.0, 26_001)
    residuals = weight / weight.sum() * (y - p)
    smoothed = residuals @ stats.norm.pdf(u, special.logit(p)[:, None], sigma)
    found = calipers.residual_ls_ece(y, p, sigma=sigma, sample_weight=weight)
    assert found == pytest.approx(np.abs(smoothed).sum() * (u[1] - u[0]), abs=2e-6)
    assert found.numerical_bound <= 1e-6
    assert (found.measure, found.settings["sigma"]) == ("residual_ls_ece", sigma)


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

"""The same figures as the packages that people use: the packages run here, next to calipers, on the same rows."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any, TypeAlias

import calibration.utils as uncertainty_calibration
import calipers
import numpy as np
import pytest
import relplot
from numpy.typing import NDArray
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss

Doubles: TypeAlias = NDArray[np.float64]
Sample: TypeAlias = tuple[NDArray[np.int64], Doubles]

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("CALIPERS_DATA", ROOT.parent / "shared" / "data"))
# Packages that need torch: fixtures/peers.py ran them.
WITH_TORCH: dict[str, dict[str, float]] = json.loads((ROOT / "fixtures" / "peers.json").read_text())["values"]
FILES = [name for name in WITH_TORCH if name.endswith(".csv")]
WITHIN = 1e-6


def golden() -> Sample:
    k = np.arange(1, 201)
    p = np.round((k * 0.6180339887498949) % 1, 2)
    y = ((k * 0.7548776662466927) % 1 < p + 0.2 * np.sin(2 * math.pi * p)).astype(int)
    p[np.argmax(p)], p[np.argmin(p)] = 1.0, 0.0
    return y, p


@pytest.fixture(scope="module", params=["golden", *FILES])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def sample(name: str) -> Sample:
    if name == "golden":
        return golden()
    if not FOLDER.is_dir():
        pytest.skip("no real predictions: set CALIPERS_DATA")
    rows = [line.split(",")[:2] for line in (FOLDER / name).read_text().splitlines()[1:]]
    return np.array([int(row[1] == "1") for row in rows]), np.array([float(row[0]) for row in rows])


def equal(expected: Any) -> Any:
    return pytest.approx(expected, abs=WITHIN)


def test_relplot_smooth_ece(sample: Sample) -> None:
    y, p = sample
    value, width = relplot.smECE(p, y, return_width=True)
    found = calipers.smooth_ece(y, p, compat="relplot")
    assert found == equal(value)
    assert found.settings["sigma"] == equal(width)


@pytest.mark.parametrize("sigma", [0.007, 0.02, 0.05, 0.2])
def test_relplot_smooth_ece_of_a_width(sample: Sample, sigma: float) -> None:
    y, p = sample
    assert calipers.smooth_ece(y, p, sigma=sigma, compat="relplot") == equal(relplot.smECE_sigma(p, y, sigma))


def test_relplot_approximates_smooth_ece(sample: Sample) -> None:
    """To the width of its search and a per mille for its grids, but for rows at 0 and 1, of which it counts half."""
    y, p = sample
    at_ends = np.mean((p == 0) | (p == 1))
    assert abs(calipers.smooth_ece(y, p) - relplot.smECE(p, y)) < 1e-3 + 0.5 * at_ends


def smoothed_residuals(sample: Sample, sigma: float, at_ends: float) -> float:
    """The definition of smECE at a width, with rows at 0 and 1 counted so much; by the midpoint rule."""
    y, p = sample
    weight = np.where((p == 0) | (p == 1), at_ends, 1.0)
    values, place = np.unique(p, return_inverse=True)
    residuals = np.bincount(place, weight * (y - p)) / weight.sum()
    step = min(sigma / 50, 1 / 1_000)
    n_steps = math.ceil(1 / step)
    t = (np.arange(n_steps) + 0.5) / n_steps
    total = np.zeros(n_steps)
    for p_i, residual in zip(values, residuals, strict=True):
        for centre in (sign * p_i + 2 * k for k in (-1, 0, 1) for sign in (-1, 1)):
            if -9 * sigma < centre < 1 + 9 * sigma:
                total += residual * np.exp(-(((t - centre) / sigma) ** 2) / 2)
    return float(np.abs(total).mean() / (sigma * math.sqrt(2 * math.pi)))


@pytest.mark.parametrize("name", ["golden", "538_nba_games.csv", "solar_flares_C1.csv"], indirect=True)
def test_relplot_counts_rows_at_0_and_1_half(sample: Sample) -> None:
    y, p = sample
    exact = calipers.smooth_ece(y, p)
    # The value is its own width.
    assert smoothed_residuals(sample, float(exact), 1.0) == equal(exact)
    for sigma in (0.02, 0.05):
        ours, theirs = calipers.smooth_ece(y, p, sigma=sigma), relplot.smECE_sigma(p, y, sigma)
        assert ours == equal(smoothed_residuals(sample, sigma, 1.0))
        assert theirs == pytest.approx(smoothed_residuals(sample, sigma, 0.5), abs=1e-3)


@pytest.mark.parametrize("name", ["solar_flares_C1.csv"], indirect=True)
def test_relplot_on_a_file_with_many_rows_at_0_and_1(sample: Sample) -> None:
    """The figures in docs/measures.md."""
    y, p = sample
    assert np.mean((p == 0) | (p == 1)) == pytest.approx(0.16, abs=0.005)
    assert relplot.smECE(p, y) == pytest.approx(0.0735, abs=5e-5)
    assert calipers.smooth_ece(y, p) == pytest.approx(0.0817, abs=5e-5)


@pytest.mark.parametrize("n_bins", [10, 15, 49])
def test_relplot_binned_ece(sample: Sample, n_bins: int) -> None:
    y, p = sample
    found = calipers.expected_calibration_error(y, p, n_bins=n_bins, compat="relplot")
    assert found == equal(relplot.metrics.binnedECE(p, y, n_bins))


def test_uncertainty_calibration_ece(sample: Sample) -> None:
    y, p = sample
    by_width = calipers.expected_calibration_error(y, p, compat="uncertainty-calibration")
    assert by_width == equal(uncertainty_calibration.get_ece(p, y, num_bins=15))
    by_mass = calipers.expected_calibration_error(y, p, strategy="quantile", compat="uncertainty-calibration")
    assert by_mass == equal(uncertainty_calibration.get_ece_em(p, y, num_bins=15))


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_uncertainty_calibration_l2_debiased(sample: Sample, strategy: Any) -> None:
    y, p = sample
    schemes = {
        "uniform": uncertainty_calibration.get_equal_prob_bins,
        "quantile": uncertainty_calibration.get_equal_bins,
    }
    scheme = schemes[strategy]
    expected = uncertainty_calibration.lower_bound_scaling_ce(
        p, y, p=2, debias=True, num_bins=15, binning_scheme=scheme
    )
    assert calipers.debiased_ece(y, p, strategy=strategy, compat="uncertainty-calibration") == equal(expected)


def test_uncertainty_calibration_l1_debiased_within_its_sampling(sample: Sample) -> None:
    """It takes the mean of draws of all gaps, whose standard error is that of their differences."""
    y, p = sample
    bins = uncertainty_calibration.bin(
        list(zip(p, y, strict=True)), uncertainty_calibration.get_equal_bins(p, num_bins=15)
    )
    np.random.seed(0)  # noqa: NPY002, the package draws from it
    draws = [uncertainty_calibration.normal_debiased_ce(bins, power=1, resamples=200) for _ in range(30)]
    standard_error = np.std(draws, ddof=1) / math.sqrt(len(draws))
    found = calipers.debiased_ece(y, p, norm="l1", compat="uncertainty-calibration")
    assert abs(found - np.mean(draws)) < 4.5 * standard_error + 1e-12


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("n_bins", [5, 10, 15])
def test_scikit_learn_calibration_curve(sample: Sample, strategy: Any, n_bins: int) -> None:
    y, p = sample
    rates, means = calibration_curve(y, p, n_bins=n_bins, strategy=strategy)
    bins = [
        each for each in calipers.calibration_bins(y, p, n_bins=n_bins, strategy=strategy, compat="sklearn") if each.n
    ]
    assert [each.outcome_rate for each in bins] == equal(rates)
    assert [each.mean_probability for each in bins] == equal(means)


def test_scikit_learn_scores(sample: Sample) -> None:
    y, p = sample
    weight = 1 + np.arange(len(y)) % 3
    assert calipers.brier_score(y, p) == equal(brier_score_loss(y, p))
    assert calipers.brier_score(y, p, sample_weight=weight) == equal(brier_score_loss(y, p, sample_weight=weight))
    # It clips at the machine epsilon, calipers at 1e-15.
    clipped = np.clip(p, 1e-15, 1 - 1e-15)
    assert calipers.log_loss(y, p) == equal(log_loss(y, clipped))
    assert calipers.log_loss(y, p, sample_weight=weight) == equal(log_loss(y, clipped, sample_weight=weight))


CLASS_FILES = [
    "cifar10_resnet20_akamaster.npz",
    "cifar100_wrn16-4_netcal.npz",
    "cifar10_vgg16_verified_calibration.npz",
]


@pytest.mark.parametrize("file", CLASS_FILES)
def test_scikit_learn_scores_of_k_classes(file: str) -> None:
    if not (FOLDER / file).is_file():
        pytest.skip("no real predictions: set CALIPERS_DATA")
    arrays = np.load(FOLDER / file)
    labels = arrays["labels"].astype(int)
    if from_logits := "logits" in arrays:
        logits = arrays["logits"].astype(np.float64)
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
    else:
        p = arrays["probs"].astype(np.float64)
    p /= p.sum(axis=1, keepdims=True)
    classes = np.arange(p.shape[1])
    weight = 1 + np.arange(len(labels)) % 3
    for given in ({}, {"sample_weight": weight}):
        half = {"scale_by_half": True}
        # It clips at the machine epsilon, calipers at 1e-15.
        clipped = np.clip(p, 1e-15, 1 - 1e-15)
        assert calipers.log_loss(labels, p, **given) == equal(log_loss(labels, clipped, labels=classes, **given))
        assert calipers.brier_score(labels, p, **given) == equal(brier_score_loss(labels, p, labels=classes, **given))
        halved = brier_score_loss(labels, p, labels=classes, **half, **given)
        assert calipers.brier_score(labels, p, **half, **given) == equal(halved)
    if from_logits:
        brier = calipers.brier_score(labels, logits, from_logits=True)
        assert brier == equal(brier_score_loss(labels, p, labels=classes))


def test_scikit_learn_isotonic_regression_makes_corp(sample: Sample) -> None:
    y, p = sample
    fitted = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(p, y).predict(p)
    parts = calipers.corp(y, p)
    score, of_fit, of_rate = np.mean((y - p) ** 2), np.mean((y - fitted) ** 2), np.mean((y - y.mean()) ** 2)
    assert parts.score == equal(score)
    assert parts.miscalibration == equal(score - of_fit)
    assert parts.discrimination == equal(of_rate - of_fit)
    assert parts.uncertainty == equal(of_rate)


def test_scikit_learn_logistic_regression_makes_cox(sample: Sample) -> None:
    y, p = sample
    clipped = np.clip(p, 1e-6, 1 - 1e-6)
    logits = np.log(clipped) - np.log1p(-clipped)
    fit = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(logits[:, None], y)
    found = calipers.cox_calibration(y, p)
    assert found.slope == equal(fit.coef_[0, 0])
    assert found.intercept == equal(fit.intercept_[0])


def test_netcal(name: str, sample: Sample) -> None:
    y, p = sample
    values = WITH_TORCH[name]
    ece = {"n_bins": 10, "compat": "netcal"}
    assert calipers.expected_calibration_error(y, p, **ece) == equal(values["netcal_ece"])
    assert calipers.maximum_calibration_error(y, p, **ece) == equal(values["netcal_mce"])
    by_mass = calipers.expected_calibration_error(y, p, strategy="quantile", **ece)
    assert by_mass == equal(values["netcal_ece_equal_mass"])
    both = np.stack([1 - p, p], axis=1)[:2000]
    found = calipers.mmce(y[:2000], both, multiclass="top_class")
    assert found == equal(values["netcal_mmce_top_class_2000"])


@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
def test_torchmetrics(name: str, sample: Sample, norm: Any) -> None:
    y, p = sample
    found = calipers.expected_calibration_error(y, p, n_bins=10, norm=norm, compat="torchmetrics")
    assert found == equal(WITH_TORCH[name][f"torchmetrics_{norm}"])

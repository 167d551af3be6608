"""Where docs/guide/recalibrate.md says that a package fails: the package does, and calipers does not."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any, TypeAlias

import calipers as cal
import numpy as np
import pytest
from numpy.typing import NDArray

Doubles: TypeAlias = NDArray[np.float64]
Sample: TypeAlias = tuple[NDArray[np.int64], Doubles]


def sigmoid(h: Doubles) -> Doubles:
    return 1 / (1 + np.exp(-h))


def exact() -> Sample:
    """400 rows of integers, whose best parameters are known to 12 digits."""
    i = np.arange(400)
    k = 37 * i % 101 - 50
    odds = 128 + np.where(k < 0, k, 2 * k)
    y = 256 * ((61 * i + 17) % 97) < 97 * odds
    return y.astype(int), sigmoid(k / 16)


# Temperature, Platt and beta without a ridge, of `exact`.
SLOPE = 0.406516440395
PLATT = (0.411418849259, 0.219038405859)
BETA = (0.264060700866, 0.567673675708, -0.085319324463)


def of_classes(n: int = 3000) -> Sample:
    """Probabilities of three classes that are twice as sure as they should be."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal((n, 3))
    truth = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    y = (rng.random(n)[:, None] > truth.cumsum(axis=1)).sum(axis=1)
    return y, np.exp(2 * z) / np.exp(2 * z).sum(axis=1, keepdims=True)


def separable() -> Sample:
    """Every outcome 1 is above every outcome 0."""
    p = np.r_[np.linspace(0.05, 0.45, 50), np.linspace(0.55, 0.95, 50)]
    return np.r_[np.zeros(50, int), np.ones(50, int)], p


def temperature_of_sklearn(y: Any, p: Any) -> Any:
    calibration = pytest.importorskip("sklearn.calibration")
    return calibration._TemperatureScaling().fit(p, y)


def test_scikit_learn_takes_rounded_probabilities_for_logits() -> None:
    """A quarter of the rows sums to 0.999 or 1.001, and then none of them is a probability."""
    y, p = of_classes()
    rounded = p.round(3)
    assert 0.2 < np.mean(np.abs(rounded.sum(axis=1) - 1) > 1e-6) < 0.3
    assert temperature_of_sklearn(y, p).beta_ == pytest.approx(0.5, abs=0.03)
    assert temperature_of_sklearn(y, rounded).beta_ > 1.9
    slopes = [cal.Recalibrator("temperature").fit(y, each).parameters["slope"] for each in (p, rounded)]
    assert slopes[0] == pytest.approx(temperature_of_sklearn(y, p).beta_, abs=1e-6)
    assert slopes[1] == pytest.approx(slopes[0], abs=0.01)


def test_scikit_learn_answers_by_what_stands_beside_a_row() -> None:
    y, p = of_classes()
    row, beside = [0.2, 0.3, 0.5], [0.201, 0.3, 0.5]
    theirs, ours = temperature_of_sklearn(y, p), cal.Recalibrator("temperature").fit(y, p)
    alone, in_a_batch = theirs.predict(np.array([row]))[0], theirs.predict(np.array([row, beside]))[0]
    assert np.abs(alone - in_a_batch).max() > 0.04
    assert np.array_equal(ours.predict_proba([row])[0], ours.predict_proba([row, beside])[0])


def test_scikit_learn_returns_a_slope_where_there_is_none() -> None:
    y, p = separable()
    columns = np.c_[1 - p, p]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # The first grows with the tolerance of the search, the second is the end of its range.
        assert temperature_of_sklearn(y, columns).beta_ > 100
        assert temperature_of_sklearn(1 - y, columns).beta_ == pytest.approx(np.exp(-10), rel=1e-3)
    for labels in (y, 1 - y):
        with pytest.raises(cal.CalipersError):
            cal.Recalibrator("temperature").fit(labels, p)
    # With the ridge that is the default of beta there is one.
    assert np.isfinite(cal.Recalibrator("beta").fit(y, p).parameters["a"])


def test_scikit_learn_fits_a_line_to_probabilities() -> None:
    """Its default for a classifier with `predict_proba` is Platt's formula of p, and not of the logit."""
    calibration = pytest.importorskip("sklearn.calibration")
    rng = np.random.default_rng(0)
    h = 1.2 * rng.standard_normal(40_000)
    y, p = (rng.random(h.size) < sigmoid(h)).astype(int), sigmoid(3 * h)
    fitted, new = slice(0, 20_000), slice(20_000, None)
    theirs = calibration._SigmoidCalibration().fit(p[fitted], y[fitted]).predict(p[new])
    ours = cal.Recalibrator("platt").fit(y[fitted], p[fitted]).predict_proba(p[new])
    truth = cal.log_loss(y[new], sigmoid(h[new]))
    assert cal.log_loss(y[new], ours) - truth < 0.001
    assert cal.log_loss(y[new], theirs) - truth > 0.01


def test_scikit_learn_gives_probability_0_to_what_happens() -> None:
    """Its isotonic regression has an infinite log-loss on new rows; ours has a mixture that bounds it."""
    isotonic = pytest.importorskip("sklearn.isotonic")
    rng = np.random.default_rng(1)
    p = rng.random(4000)
    y = (rng.random(p.size) < 0.1 + 0.8 * p).astype(int)
    fitted, new = slice(0, 2000), slice(2000, None)
    theirs = isotonic.IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(p[fitted], y[fitted])
    of_truth = np.where(y[new] == 1, theirs.predict(p[new]), 1 - theirs.predict(p[new]))
    assert of_truth.min() == 0
    ours = cal.Recalibrator("isotonic").fit(y[fitted], p[fitted]).predict_proba(p[new])
    assert np.where(y[new] == 1, ours, 1 - ours).min() >= 0.5 / 2001


@pytest.mark.parametrize(
    ("name", "method", "parameters"),
    [
        ("TemperatureScaling", "temperature", (SLOPE,)),
        ("LogisticCalibration", "platt", PLATT),
        ("BetaCalibration", "beta", BETA),
    ],
)
def test_netcal_returns_the_identity_for_single_precision(
    name: str, method: str, parameters: tuple[float, ...]
) -> None:
    """Its steps of 1.5e-8 for the gradient vanish in the sums of the loss."""
    scaling = pytest.importorskip("netcal.scaling")
    y, p = exact()
    in_double, in_single = (
        getattr(scaling, name)().fit(scores, y).transform(scores) - scores for scores in (p, p.astype(np.float32))
    )
    assert np.abs(in_double).max() > 0.15
    assert np.abs(in_single).max() < 1e-6
    found = cal.Recalibrator(method, ridge=0).fit(y, p)
    assert list(found.parameters.values()) == pytest.approx(parameters, abs=1e-10)
    in_single = cal.Recalibrator(method, ridge=0).fit(y, p.astype(np.float32))
    assert list(in_single.parameters.values()) == pytest.approx(parameters, abs=1e-6)


def test_netcal_fits_bins_that_it_cannot_apply() -> None:
    binning = pytest.importorskip("netcal.binning")
    y, p = exact()
    fitted = binning.HistogramBinning(10, equal_intervals=False).fit(p, y)
    with pytest.raises(ValueError, match="not implemented"):
        fitted.transform(p)


def test_betacal_stops_early_and_silences_all_warnings() -> None:
    betacal = pytest.importorskip("betacal")
    y, p = exact()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        theirs = betacal.BetaCalibration("abm").fit(p[:, None], y)
        # In this block only because `catch_warnings` restores what it has changed.
        assert warnings.filters[0][0] == "ignore"
        assert warnings.filters[0][2] is Warning
    a, b, _ = theirs.calibrator_.map_
    assert 3e-4 < max(abs(a - BETA[0]), abs(b - BETA[1])) < 1e-2
    ours = cal.Recalibrator("beta", ridge=0).fit(y, p)
    assert list(ours.parameters.values()) == pytest.approx(BETA, abs=1e-10)
    assert ours.bound.standard_errors < 1e-8


def run(code: str) -> str:
    """What a new process prints, since these packages change the one that imports them."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_venn_abers_switches_off_numpys_warnings() -> None:
    pytest.importorskip("venn_abers")
    code = "import numpy, {}; print(numpy.geterr()['divide'], numpy.geterr()['invalid'])"
    assert run(code.format("venn_abers")) == "ignore ignore"
    assert run(code.format("calipers")) == "warn warn"


def test_probmetrics_cannot_be_imported_without_what_it_does_not_require() -> None:
    pytest.importorskip("probmetrics")
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "try: import probmetrics.calibrators\n"
        "except ImportError as error: print('numba' in str(error))"
    )
    assert run(code) == "True"
    from importlib.metadata import requires

    required = [each for each in requires("probmetrics") or [] if "extra ==" not in each]
    assert not any(each.startswith("numba") for each in required)


def temperature_of_torch_uncertainty(scores: Any, y: Any) -> float:
    processing = pytest.importorskip("torch_uncertainty.post_processing")
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    rows = TensorDataset(torch.as_tensor(scores, dtype=torch.float32), torch.as_tensor(y))
    scaler = processing.TemperatureScaler()
    scaler.fit(DataLoader(rows, batch_size=len(rows)), progress=False)
    return float(scaler.temperature[0])


def test_torch_uncertainty_has_no_temperature_for_one_large_logit() -> None:
    rng = np.random.default_rng(0)
    h = 2 * rng.standard_normal(1000)
    y = (rng.random(h.size) < sigmoid(h)).astype(int)
    assert np.isfinite(temperature_of_torch_uncertainty(h, y))
    # One more row, and one that is right.
    h, y = np.r_[h, 20.0], np.r_[y, 1]
    assert np.isnan(temperature_of_torch_uncertainty(h, y))
    assert cal.Recalibrator("temperature", from_logits=True).fit(y, h).parameters["slope"] == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("scale", [10.0, 100.0])
def test_torch_uncertainty_diverges_for_large_scores_of_classes(scale: float) -> None:
    rng = np.random.default_rng(0)
    z = rng.standard_normal((2000, 10))
    truth = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    y = (rng.random(len(z))[:, None] > truth.cumsum(axis=1)).sum(axis=1)
    theirs = 1 / temperature_of_torch_uncertainty(scale * z, y)
    # Its last step depends on rounding; it is far too large, or has the wrong sign.
    assert not 0 < theirs < 10
    ours = cal.Recalibrator("temperature", from_logits=True).fit(y, scale * z).parameters["slope"]
    assert ours == pytest.approx(1 / scale, rel=0.1)


def test_torch_uncertainty_sets_the_inverse_of_a_temperature() -> None:
    processing = pytest.importorskip("torch_uncertainty.post_processing")
    import torch

    scaler = processing.VectorScaler(num_classes=3)
    scaler.set_temperature(torch.tensor([2.0, 2.0, 2.0]))
    assert scaler.temperature[0].tolist() == [0.5, 0.5, 0.5]

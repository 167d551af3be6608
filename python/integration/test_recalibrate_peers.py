"""Maps beside those of other packages, where these are right; each to the tolerance of its optimiser."""

from __future__ import annotations

from typing import Any

import calipers as cal
import numpy as np
import pytest

RNG = np.random.default_rng(11)
H = np.round(RNG.normal(0, 2, 2000), 2)
Y = (RNG.random(2000) < 1 / (1 + np.exp(-(0.6 * H + 0.3)))).astype(int)
P = 1 / (1 + np.exp(-H))
Z = RNG.normal(0, 2, (1500, 4))
LABELS = (Z / 2 + RNG.gumbel(0, 1, Z.shape)).argmax(axis=1)


def test_sigmoid_of_scikit_learn_is_platt_with_its_targets() -> None:
    """Its targets shrink less and less: with many rows the maps meet."""
    from sklearn.calibration import _SigmoidCalibration

    theirs = _SigmoidCalibration().fit(H, Y)
    ours = cal.recalibrate(Y, H, method="platt", ridge=0, from_logits=True).parameters
    assert [-theirs.a_, -theirs.b_] == pytest.approx([ours["slope"], ours["intercept"]], abs=0.005)


def test_temperature_of_scikit_learn() -> None:
    from sklearn.calibration import _TemperatureScaling

    theirs = _TemperatureScaling().fit(Z, LABELS)
    ours = cal.recalibrate(LABELS, Z, method="temperature", from_logits=True, mixture=0)
    assert theirs.beta_ == pytest.approx(ours.parameters["slope"], abs=1e-6)
    np.testing.assert_allclose(theirs.predict(Z), ours.predict_proba(Z), atol=1e-6)


def test_isotonic_regression_of_scikit_learn() -> None:
    from sklearn.isotonic import IsotonicRegression

    theirs = IsotonicRegression(out_of_bounds="clip").fit(H, Y)
    ours = cal.recalibrate(Y, H, method="isotonic", from_logits=True, mixture=0)
    # Between knots both are straight lines in the score that they were given.
    at = np.linspace(-8, 8, 999)
    np.testing.assert_allclose(theirs.predict(at), ours.predict_proba(at), atol=1e-12)


def test_betacal() -> None:
    betacal: Any = pytest.importorskip("betacal")
    theirs = betacal.BetaCalibration("abm").fit(P.reshape(-1, 1), Y)
    ours = cal.recalibrate(Y, P, method="beta", ridge=0)
    np.testing.assert_allclose(theirs.predict(P.reshape(-1, 1)), ours.predict_proba(P), atol=2e-3)


def test_venn_abers() -> None:
    venn_abers: Any = pytest.importorskip("venn_abers")
    theirs = venn_abers.VennAbers()
    theirs.fit(np.stack([1 - P, P], axis=1), Y)
    at = np.concatenate([P[:200], np.linspace(0.001, 0.999, 101)])
    p, interval = theirs.predict_proba(np.stack([1 - at, at], axis=1))
    ours = cal.recalibrate(Y, P, method="venn_abers", mixture=0)
    np.testing.assert_allclose(ours.predict_proba(at), p[:, 1], atol=1e-12)
    found = ours.predict_interval(at)
    np.testing.assert_allclose(found.lower, interval[:, 0], atol=1e-12)
    np.testing.assert_allclose(found.upper, interval[:, 1], atol=1e-12)


def test_netcal_in_double_precision() -> None:
    scaling: Any = pytest.importorskip("netcal.scaling")
    theirs = scaling.TemperatureScaling().fit(P, Y)
    ours = cal.recalibrate(Y, P, method="temperature")
    np.testing.assert_allclose(theirs.transform(P), ours.predict_proba(P), atol=1e-4)

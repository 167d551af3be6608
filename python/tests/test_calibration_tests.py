"""Tests of calibration and bands: against scipy where a formula is simple, and against naive draws."""

from __future__ import annotations

import json
import pickle
from typing import Any

import calipers as cal
import numpy as np
import pytest
from cases import Doubles
from numpy.typing import NDArray
from scipy import stats

TESTS = {
    "spiegelhalter": cal.spiegelhalter_test,
    "hosmer_lemeshow": cal.hosmer_lemeshow_test,
    "ecce_r": cal.ecce_r_test,
    "ecce_mad": cal.ecce_mad_test,
    "tcal_adaptive": cal.tcal_test,
    "cox": cal.cox_test,
}


def rows(n: int = 3000, *, seed: int = 1, tilt: float = 1.0) -> tuple[Doubles, Doubles]:
    """Logits whose outcomes follow them `tilt` times."""
    random = np.random.default_rng(seed)
    logits = random.normal(size=n) * 1.5
    y = (random.random(n) < 1 / (1 + np.exp(-tilt * logits))).astype(float)
    return y, 1 / (1 + np.exp(-logits))


def test_spiegelhalter_is_its_formula() -> None:
    y, p = rows()
    z = ((y - p) * (1 - 2 * p)).sum() / np.sqrt(((1 - 2 * p) ** 2 * p * (1 - p)).sum())
    test = cal.spiegelhalter_test(y, p)
    assert test.statistic == pytest.approx(z, abs=1e-12)
    assert test.p_value == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-10)
    assert test.settings["null_distribution"] == "asymptotic"


@pytest.mark.parametrize("fitted", [False, True])
def test_hosmer_lemeshow_is_its_formula(fitted: bool) -> None:
    y, p = rows()
    parts = np.array_split(np.argsort(p), 10)
    terms = [(y[part] - p[part]).sum() ** 2 / (len(part) * p[part].mean() * (1 - p[part].mean())) for part in parts]
    test = cal.hosmer_lemeshow_test(y, p, fitted=fitted)
    assert test.statistic == pytest.approx(sum(terms), rel=1e-10)
    assert test.degrees_of_freedom == (8 if fitted else 10)
    assert test.p_value == pytest.approx(stats.chi2.sf(sum(terms), test.degrees_of_freedom), rel=1e-9)
    assert test.settings["fitted"] is fitted


def test_the_cumulative_tests_are_extremes_of_the_sums_against_brownian_motion() -> None:
    y, p = rows(6000)
    order = np.argsort(p)
    sums = np.concatenate([[0.0], np.cumsum((y - p)[order])]) / np.sqrt((p * (1 - p)).sum())
    kuiper = cal.ecce_r_test(y, p, null_distribution="asymptotic")
    kolmogorov = cal.ecce_mad_test(y, p, null_distribution="asymptotic")
    assert kuiper.statistic == pytest.approx(np.ptp(sums), rel=1e-10)
    assert kolmogorov.statistic == pytest.approx(np.abs(sums).max(), rel=1e-10)
    # P(max |B| < a) = 4/pi sum (-1)^k / (2k + 1) exp(-(2k + 1)^2 pi^2 / 8 a^2)
    odd = 2 * np.arange(50) + 1
    terms = (-1.0) ** np.arange(50) / odd * np.exp(-((odd * np.pi) ** 2) / (8 * kolmogorov.statistic**2))
    assert kolmogorov.p_value == pytest.approx(1 - 4 / np.pi * terms.sum(), rel=1e-8)
    # Feller's density 8 sum (-1)^(k - 1) k^2 pdf(k r), integrated from r on.
    k = np.arange(1, 200)
    assert kuiper.p_value == pytest.approx(
        (8 * (-1.0) ** (k - 1) * k * stats.norm.sf(k * kuiper.statistic)).sum(), abs=1e-10
    )


def test_the_cox_test_is_the_likelihood_ratio() -> None:
    y, p = rows()
    test, fit = cal.cox_test(y, p), cal.cox_calibration(y, p)
    logits = np.log(p / (1 - p))

    def likelihood(a: float, b: float) -> float:
        return float((y * (a + b * logits) - np.logaddexp(0, a + b * logits)).sum())

    ratio = 2 * (likelihood(fit.intercept, fit.slope) - likelihood(0, 1))
    assert test.statistic == pytest.approx(ratio, abs=1e-8)
    assert test.p_value == pytest.approx(stats.chi2.sf(ratio, 2), rel=1e-6)
    assert (test.intercept.value, test.slope.value, test.in_the_large.value) == (
        fit.intercept,
        fit.slope,
        fit.in_the_large,
    )
    half = stats.norm.ppf(0.975) * fit.slope_standard_error
    assert (test.slope.lower, test.slope.upper) == pytest.approx((fit.slope - half, fit.slope + half), rel=1e-9)
    wide = cal.cox_test(y, p, level=0.99)
    assert wide.level == 0.99
    assert wide.slope.lower < test.slope.lower


def test_drawn_p_values_are_those_of_naive_draws() -> None:
    y, p = rows(40)
    random = np.random.default_rng(5)

    def statistic(y: Doubles) -> float:
        return abs(float(((y - p) * (1 - 2 * p)).sum()))

    draws = [statistic((random.random(40) < p).astype(float)) for _ in range(20_000)]
    expected = np.mean(np.array(draws) >= statistic(y) * (1 - 1e-12))
    test = cal.spiegelhalter_test(y, p, null_distribution="resampled", n_resamples=19_999)
    assert test.p_value == pytest.approx(expected, abs=0.02)
    assert test.settings["n_resamples"] == 19_999
    assert test.settings["random_state"] == 0


@pytest.mark.parametrize("name", TESTS)
def test_overconfident_predictions_are_seen_and_calibrated_ones_are_not(name: str) -> None:
    assert TESTS[name](*rows(tilt=0.6)).p_value < 0.01
    assert TESTS[name](*rows()).p_value > 0.01


@pytest.mark.parametrize("name", TESTS)
def test_results_say_what_belongs_to_them(name: str) -> None:
    y, p = rows(500)
    test = TESTS[name](y, p, sample_weight=np.full(500, 2.0))
    assert (test.test, test.n, test.left_out) == (name, 500, {})
    assert test.settings["weighted"] is True
    assert test.settings["multiclass"] is None
    assert test.p_value == TESTS[name](y, p).p_value
    assert repr(test).startswith(f"{type(test).__name__}({name!r}, statistic={test.statistic:.6g}, p_value=")
    assert json.loads(json.dumps(test.to_dict()))["p_value"] == test.p_value
    assert pickle.loads(pickle.dumps(test)) == test
    missing = TESTS[name](y, np.where(np.arange(500) == 3, np.nan, p), invalid="count")
    assert (missing.n, sum(missing.left_out.values())) == (499, 1)


def test_all_tests_at_once_are_the_tests() -> None:
    y, p = rows(800)
    tests = cal.calibration_tests(y, p)
    assert list(tests) == list(TESTS)
    assert all(tests[name] == TESTS[name](y, p) for name in TESTS)
    table = str(tests).splitlines()
    assert table[0].split() == ["test", "statistic", "p-value", "by"]
    assert [line.split()[0] for line in table[1:]] == list(TESTS)
    assert set(json.loads(json.dumps(tests.to_dict()))["tests"]) == set(TESTS)


def test_a_regression_without_a_fit_is_named_with_its_reason() -> None:
    tests = cal.calibration_tests([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9])
    assert "cox" not in tests
    assert len(tests) == 5
    assert f"cox: {tests.errors['cox']}" in str(tests)
    with pytest.raises(cal.CalipersError, match="probability"):
        cal.calibration_tests([0, 1], [0.1, 2.0])


@pytest.mark.parametrize(
    ("test", "options", "text"),
    [
        (cal.spiegelhalter_test, {"null_distribution": "exact"}, "null_distribution must be"),
        (cal.ecce_r_test, {"n_resamples": 0}, "n_resamples must be"),
        (cal.hosmer_lemeshow_test, {"n_groups": 1}, "n_groups must be"),
        (cal.hosmer_lemeshow_test, {"fitted": True, "null_distribution": "resampled"}, "null_distribution must be"),
        (cal.tcal_test, {"most_bins": 1}, "most_bins must be"),
        (cal.cox_test, {"level": 1.0}, "level must be"),
        (cal.spiegelhalter_test, {"multiclass": "classwise"}, "multiclass must be"),
        (cal.corp_curve, {"band": "prediction"}, "band must be"),
        (cal.corp_curve, {"band": "confidence", "n_resamples": 38}, "n_resamples must be from 39"),
        (cal.ls_curve, {"band": "confidence"}, "band must be"),
        (cal.ls_curve, {"band": "consistency", "level": 1.0}, "level must be"),
    ],
)
def test_options_that_make_no_sense_are_refused(test: Any, options: dict[str, Any], text: str) -> None:
    y, p = rows(50)
    with pytest.raises(cal.CalipersError, match=text):
        test(y, p, **options)


def test_classes_are_tested_one_view_at_a_time(classes: tuple[NDArray[np.int64], Doubles]) -> None:
    labels, scores = classes
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert cal.spiegelhalter_test(labels, p).settings["multiclass"] == "top_class"
    one = cal.spiegelhalter_test(labels, p, multiclass=1)
    assert one.settings["multiclass"] == 1
    assert one.statistic == cal.spiegelhalter_test((labels == 1).astype(int), p[:, 1]).statistic


@pytest.mark.parametrize("kind", ["consistency", "confidence"])
def test_the_bands_of_corp_hold_what_they_are_about(kind: Any) -> None:
    y, p = rows(600)
    curve = cal.corp_curve(y, p, band=kind)
    band = curve.band
    assert band is not None
    assert (band.kind, band.level, band.n_resamples, band.random_state) == (kind, 0.95, 999, 0)
    assert (band.lower <= band.upper).all()
    assert (np.diff(band.lower) >= 0).all()
    if kind == "confidence":
        assert ((band.lower <= curve.outcome_rates) & (curve.outcome_rates <= band.upper)).all()
    else:
        inside = (band.lower <= curve.outcome_rates) & (curve.outcome_rates <= band.upper)
        assert inside.mean() > 0.8
    again = cal.corp_curve(y, p, band=kind).band
    assert again is not None
    assert (again.lower == band.lower).all()
    assert cal.corp_curve(y, p).band is None


@pytest.mark.parametrize(("n", "sigma", "of_deviation"), [(1000, 0.9, 1e-8), (2000, 0.3, 1e-3), (200_000, 0.3, 1e-3)])
def test_the_band_of_the_smoothed_curve_has_the_moments_of_its_rows(n: int, sigma: float, of_deviation: float) -> None:
    y, p = rows(n)
    at = np.array([0.3, 0.5, 0.7])
    band = cal.ls_curve(y, p, at=at, sigma=sigma, band="consistency").band
    assert band is not None
    logits, places = np.log(p / (1 - p)), np.log(at / (1 - at))
    say = np.exp(-0.5 * ((places[:, None] - logits) / sigma) ** 2)
    say /= say.sum(axis=1, keepdims=True)
    mean, deviation = say @ p, np.sqrt(say**2 @ (p * (1 - p)))
    skewness = say**3 @ (p * (1 - p) * (1 - 2 * p)) / deviation**3
    z = stats.norm.ppf(0.975)
    shift = skewness / 6 * (z * z - 1)
    # Above 1,024 rows those of nearly the same logit are taken together.
    assert np.abs(band.lower - (mean + deviation * (shift - z))).max() <= of_deviation * deviation.max()
    assert np.abs(band.upper - (mean + deviation * (shift + z))).max() <= of_deviation * deviation.max()
    assert cal.ls_curve(y, p, at=at, sigma=sigma).band is None

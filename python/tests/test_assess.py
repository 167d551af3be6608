"""Assessments against numpy's own resamples of rows, and what they refuse."""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import calipers as cal
import numpy as np
import pytest
from cases import Doubles
from scipy import special, stats

SIGMA = 0.4
GRID = np.linspace(-9.0, 9.0, 1801)
# Where larger is not worse, there is nothing to assess.
NOT_ORDERED = {"observed_expected", "calibration_in_the_large", "calibration_slope", "calibration_intercept"}
ORDERED = [measure.name for measure in cal.measures() if measure.name not in NOT_ORDERED]
PARTS = {"corp_miscalibration": "corp", **dict.fromkeys(("ici", "e50", "e90", "emax"), "calibration_indices")}


def sample(seed: int, n: int, overconfidence: float = 1.0) -> tuple[Doubles, Doubles]:
    """Outcomes whose probabilities are rho(h / overconfidence), where rho(h) is predicted."""
    rng = np.random.default_rng(seed)
    h = np.clip(rng.normal(0.3, 1.5, n), -6.0, 6.0)
    return (rng.random(n) < special.expit(h / overconfidence)).astype(float), special.expit(h)


class Oracle:
    """LS-ECE of any outcomes of the same predictions: the integral of its definition as a sum over a fine grid."""

    def __init__(self, p: Doubles) -> None:
        self.p = p
        self.kernel = stats.norm.pdf(GRID, special.logit(p)[:, None], SIGMA) * (GRID[1] - GRID[0])

    def __call__(self, y: Doubles, shares: Doubles) -> Doubles:
        """One figure for each row of outcomes and shares of the weight."""
        return np.abs((shares * y) @ self.kernel - special.expit(GRID) * (shares @ self.kernel)).sum(axis=-1)

    def residual(self, y: Doubles, shares: Doubles) -> Doubles:
        """The same for the residual form."""
        return np.abs((shares * (y - self.p)) @ self.kernel).sum(axis=-1)

    def outcomes(self, n_draws: int) -> Doubles:
        return (np.random.default_rng(1).random((n_draws, len(self.p))) < self.p).astype(float)

    def floor(self, n_draws: int, shares: Doubles) -> Doubles:
        return self(self.outcomes(n_draws), shares)

    def bootstrap(self, y: Doubles, n_draws: int) -> Doubles:
        n = len(y)
        return self(y, np.random.default_rng(2).multinomial(n, np.full(n, 1 / n), n_draws) / n)


def assert_same_mean(ours: tuple[float, float, int], draws: Doubles) -> None:
    """Within four standard errors of the difference of two means; deviations within 15 %."""
    mean, deviation, n = ours
    error = math.hypot(deviation / math.sqrt(n), draws.std() / math.sqrt(len(draws)))
    assert abs(mean - draws.mean()) < 4 * error
    assert deviation == pytest.approx(draws.std(), rel=0.15)


@pytest.mark.parametrize("overconfidence", [1.0, 1.25, 2.0])
def test_the_floor_is_that_of_rows(overconfidence: float) -> None:
    y, p = sample(3, 600, overconfidence)
    oracle, shares = Oracle(p), np.full(600, 1 / 600)
    found = cal.assess(y, p, sigma=SIGMA)
    assert found.value == pytest.approx(oracle(y, shares), abs=1e-5)
    draws = oracle.floor(2000, shares)
    floor = found.floor
    assert floor is not None
    assert_same_mean((floor.mean, floor.deviation, 1000), draws)
    assert floor.quantiles == pytest.approx(np.quantile(draws, [0.05, 0.5, 0.95]), rel=0.06)
    # The residual form decides.
    residual = found.residual
    assert residual is not None
    assert residual.value == pytest.approx(oracle.residual(y, shares), abs=1e-5)
    assert residual.value == pytest.approx(cal.residual_ls_ece(y, p, sigma=SIGMA), abs=1e-6)
    draws = oracle.residual(oracle.outcomes(2000), shares)
    assert residual.floor is not None
    assert_same_mean((residual.floor.mean, residual.floor.deviation, 1000), draws)
    p_value = (1 + (draws >= residual.value).sum()) / 2001
    error = math.sqrt(max(p_value * (1 - p_value), 0.001) * (1 / 1000 + 1 / 2000))
    assert found.p_value == pytest.approx(p_value, abs=4 * error)
    assert found.significant is (floor.p_value <= 0.05)


def test_weights_are_weights_in_the_floor_too() -> None:
    y, p = sample(4, 500, 1.5)
    weight = np.random.default_rng(0).integers(0, 4, 500).astype(float)
    shares = weight / weight.sum()
    found = cal.assess(y, p, sigma=SIGMA, sample_weight=weight)
    oracle = Oracle(p)
    assert found.value == pytest.approx(oracle(y, shares), abs=1e-5)
    assert found.floor is not None
    assert_same_mean((found.floor.mean, found.floor.deviation, 1000), oracle.floor(2000, shares))
    assert found.settings["weighted"]


def test_the_bootstrap_is_that_of_rows() -> None:
    y, p = sample(5, 600, 1.8)
    draws = Oracle(p).bootstrap(y, 2000)
    normal = cal.assess(y, p, sigma=SIGMA, method="normal")
    error = draws.std() * math.sqrt(1 / 1000 + 1 / 2000)
    assert normal.bias == pytest.approx(draws.mean() - normal.value, abs=4 * error)
    half = stats.norm.ppf(0.975) * draws.std()
    centre = 2 * normal.value - draws.mean()
    assert normal.interval.lower == pytest.approx(centre - half, abs=5 * error)
    assert normal.interval.upper == pytest.approx(centre + half, abs=5 * error)
    percentile = cal.assess(y, p, sigma=SIGMA, method="percentile").interval
    assert (percentile.lower, percentile.upper) == pytest.approx(np.quantile(draws, [0.025, 0.975]), abs=8 * error)


def test_the_floor_of_a_binned_figure_is_that_of_rows() -> None:
    y, p = sample(6, 400, 1.3)

    def ece(outcomes: Doubles) -> float:
        bins = np.clip(np.ceil(15 * p).astype(int) - 1, 0, 14)
        return float(np.abs(np.bincount(bins, outcomes - p, 15)).sum() / len(p))

    rng = np.random.default_rng(0)
    draws = np.array([ece((rng.random(400) < p).astype(float)) for _ in range(1000)])
    found = cal.assess(y, p, measure="expected_calibration_error")
    assert found.value == pytest.approx(ece(y), abs=1e-12)
    assert found.floor is not None
    assert_same_mean((found.floor.mean, found.floor.deviation, 1000), draws)


def test_intervals_hold_the_population() -> None:
    h = np.linspace(-6.0, 6.0, 2401)
    density = stats.norm.pdf(h, 0.3, 1.5)
    density /= density.sum()
    gap = (special.expit(h / 2)[:, None] - special.expit(GRID)) * stats.norm.pdf(GRID, h[:, None], SIGMA)
    truth = np.abs(density @ gap).sum() * (GRID[1] - GRID[0])
    held = 0
    for seed in range(100):
        interval = cal.assess(*sample(100 + seed, 1000, 2.0), sigma=SIGMA, n_resamples=100, random_state=seed).interval
        held += interval.lower <= truth <= interval.upper
    # 95 of 100 are expected; fewer than 87 have a probability of 0.001.
    assert held >= 87


def test_calibrated_models_are_rejected_about_as_often_as_asked() -> None:
    rejected = sum(
        cal.assess(*sample(300 + seed, 500), sigma=SIGMA, n_resamples=99, random_state=seed).significant is True
        for seed in range(150)
    )
    # 7.5 of 150 are expected.
    assert rejected <= 17


def test_the_debiased_value_has_its_rule() -> None:
    y, p = sample(7, 800, 2.0)
    found = cal.assess(y, p, sigma=SIGMA, debias="mean")
    residual = found.residual
    assert residual is not None
    assert residual.floor is not None
    by_floor = cal.assess(y, p, sigma=SIGMA, debias="floor").debiased
    assert by_floor == pytest.approx(math.sqrt(residual.value**2 - residual.floor.mean**2), abs=1e-9)
    by_bootstrap = cal.assess(y, p, sigma=SIGMA, debias="bootstrap").debiased
    assert by_bootstrap == pytest.approx(residual.value - residual.bias, abs=1e-9)
    assert found.debias == "mean"
    assert found.debiased == residual.debiased == pytest.approx((by_floor + by_bootstrap) / 2, abs=1e-12)
    local = cal.assess(y, p, sigma=SIGMA)
    assert local.debias == "local"
    assert local.debiased == pytest.approx(found.debiased, abs=0.01)
    assert cal.assess(y, p, measure="brier_score", n_resamples=20).debias in ("mean", "bootstrap")
    assert cal.assess(*sample(8, 800), sigma=SIGMA).debiased >= 0


@pytest.mark.parametrize("name", ORDERED)
def test_the_value_is_that_of_the_measure(name: str) -> None:
    y, p = sample(9, 150, 1.5)
    found = cal.assess(y, p, measure=name, n_resamples=20)
    whole = getattr(cal, PARTS.get(name, name))(y, p)
    expected = {"corp": "miscalibration"}.get(PARTS.get(name, ""), name)
    value = float(whole) if isinstance(whole, cal.Estimate) else getattr(whole, expected)
    assert found.value == pytest.approx(value, abs=1e-12)
    assert found.floor is not None
    assert found.interval.lower <= found.interval.upper
    assert json.loads(json.dumps(found.to_dict()))["value"] == found.value


def test_options_are_those_of_the_measure() -> None:
    y, p = sample(10, 200, 1.5)
    found = cal.assess(
        y, p, measure="expected_calibration_error", n_bins=5, strategy="quantile", norm="l2", n_resamples=20
    )
    assert found.value == cal.expected_calibration_error(y, p, n_bins=5, strategy="quantile", norm="l2")
    assert found.estimate.settings["n_bins"] == 5
    found = cal.assess(y, p, noise="uniform", sigma=0.5, n_resamples=20)
    assert found.value == pytest.approx(cal.ls_ece(y, p, noise="uniform", sigma=0.5), abs=1e-6)


def test_seeds_make_the_figures() -> None:
    y, p = sample(11, 300, 1.4)
    first, again, other = (cal.assess(y, p, random_state=seed).to_dict() for seed in (1, 1, 2))
    assert first == again
    assert first["floor"] != other["floor"]
    assert first["value"] == other["value"]
    assert first["settings"]["random_state"] == 1


def test_forms_of_input_give_the_same() -> None:
    y, p = sample(12, 300, 1.6)
    p = p.astype(np.float32).astype(float)
    expected = cal.assess(y, p, sigma=0.3, n_resamples=50)
    forms: list[tuple[Any, Any]] = [
        (y.tolist(), p.tolist()),
        (y.astype(bool), p.astype(np.float32)),
        (y.astype(int), np.column_stack([1 - p, p])),
        (y[:, None], p[:, None]),
    ]
    for y_true, y_prob in forms:
        found = cal.assess(y_true, y_prob, sigma=0.3, n_resamples=50)
        assert found.value == pytest.approx(expected.value, abs=1e-6)
        assert found.interval.upper == pytest.approx(expected.interval.upper, abs=1e-5)
    named = cal.assess(np.where(y == 1, "yes", "no"), p, sigma=0.3, n_resamples=50, pos_label="yes")
    assert named.value == expected.value
    logits = cal.assess(y, special.logit(p), sigma=0.3, n_resamples=50, from_logits=True)
    assert logits.value == pytest.approx(expected.value, abs=2e-6)


def test_rows_of_several_classes_are_asked_by_view() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 1.5, (400, 4))
    labels = (scores / 2 + rng.gumbel(size=(400, 4))).argmax(axis=1)
    top = cal.assess(labels, scores, from_logits=True, n_resamples=50)
    assert top.estimate.settings["multiclass"] == "top_class"
    assert top.value == pytest.approx(cal.ls_ece(labels, scores, from_logits=True), abs=2e-6)
    probabilities = special.softmax(scores, axis=1)
    one = cal.assess(labels, probabilities, multiclass=2, sigma=0.3, n_resamples=50)
    assert one.value == pytest.approx(cal.ls_ece(labels == 2, probabilities[:, 2], sigma=0.3), abs=2e-6)


def test_a_mean_over_classes_has_a_floor_of_labels() -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(0, 1.2, (200, 3))
    p = special.softmax(scores, axis=1)
    labels = (scores + rng.gumbel(size=(200, 3))).argmax(axis=1)
    options: dict[str, Any] = {"sigma": 0.4, "multiclass": "classwise"}
    found = cal.assess(labels, p, n_resamples=200, **options)
    assert found.value == pytest.approx(cal.ls_ece(labels, p, **options), abs=2e-6)
    assert found.estimate.per_class is not None
    drawn = [(np.log(p) + rng.gumbel(size=p.shape)).argmax(axis=1) for _ in range(200)]
    draws = np.array([cal.ls_ece(each, p, **options) for each in drawn])
    assert found.floor is not None
    error = draws.std() * math.sqrt(2 / 200)
    assert found.floor.mean == pytest.approx(draws.mean(), abs=4 * error)
    assert found.floor.deviation == pytest.approx(draws.std(), rel=0.3)


CLUSTERS: dict[str, Any] = {
    "integers": lambda number: number.astype(np.int16),
    "numbers in a list": lambda number: [float(each) for each in number],
    "text": lambda number: [f"user {each}" for each in number],
    "text in an array": lambda number: number.astype(str),
    "tuples": lambda number: [(each % 3, each // 3) for each in number.tolist()],
    "dates": lambda number: np.datetime64("2024-01-01") + number,
    "objects": lambda number: np.array([f"user {each}" if each % 2 else int(each) for each in number], dtype=object),
}


@pytest.mark.parametrize("form", CLUSTERS)
def test_clusters_are_anything_that_can_be_told_apart(form: str) -> None:
    y, p = sample(13, 400, 2.0)
    number = np.random.default_rng(1).integers(0, 40, 400)
    expected = cal.assess(y, p, sigma=0.3, n_resamples=50, cluster=number)
    assert expected.n_clusters == len(np.unique(number))
    found = cal.assess(y, p, sigma=0.3, n_resamples=50, cluster=CLUSTERS[form](number))
    assert found.to_dict() == expected.to_dict()
    assert f"400 in {expected.n_clusters} clusters" in repr(found)


def test_rows_that_come_five_times_are_no_more_than_once() -> None:
    y, p = sample(14, 200, 2.0)
    once = cal.assess(y, p, sigma=0.3, cluster=np.arange(200))
    copies = cal.assess(np.repeat(y, 5), np.repeat(p, 5), sigma=0.3, cluster=np.repeat(np.arange(200), 5))
    as_if_new = cal.assess(np.repeat(y, 5), np.repeat(p, 5), sigma=0.3)
    assert copies.standard_error == pytest.approx(once.standard_error, rel=0.02)
    assert as_if_new.standard_error == pytest.approx(once.standard_error / math.sqrt(5), rel=0.05)


def test_every_measure_has_a_floor_by_clusters() -> None:
    y, p = sample(15, 300, 2.0)
    for measure in ("ls_ece", "residual_ls_ece", "expected_calibration_error", "smooth_ece", "brier_score"):
        found = cal.assess(y, p, measure=measure, cluster=np.arange(300) // 10, n_resamples=50)
        assert found.unavailable is None
        assert found.floor is not None
        assert found.n_clusters == 30


def test_a_mean_over_classes_has_no_floor_by_clusters() -> None:
    rng = np.random.default_rng(15)
    p = special.softmax(rng.normal(0, 1.2, (300, 3)), axis=1)
    labels = (np.log(p) + rng.gumbel(size=p.shape)).argmax(axis=1)
    options: dict[str, Any] = {"measure": "expected_calibration_error", "multiclass": "classwise", "n_resamples": 50}
    found = cal.assess(labels, p, cluster=np.arange(300) // 10, **options)
    assert (found.floor, found.p_value, found.significant) == (None, None, None)
    assert found.unavailable
    assert found.unavailable in found.sentence
    assert found.to_dict()["floor"] is None
    assert "noise floor  " not in repr(found)


def test_rows_left_out_take_their_clusters_along() -> None:
    y, p = sample(16, 300, 2.0)
    number = np.arange(300) // 6
    with_holes = p.copy()
    with_holes[[5, 60, 61]] = math.nan
    kept = ~np.isnan(with_holes)
    found = cal.assess(y, with_holes, sigma=0.3, n_resamples=50, cluster=number, invalid="count")
    expected = cal.assess(y[kept], p[kept], sigma=0.3, n_resamples=50, cluster=number[kept])
    assert (found.value, found.interval, found.floor) == (expected.value, expected.interval, expected.floor)
    assert found.estimate.left_out == {"invalid probability": 3}


def test_it_prints_its_sentence_first() -> None:
    found = cal.assess(*sample(17, 2000, 2.0), sigma=SIGMA)
    assert repr(found).startswith(found.sentence + "\n")
    assert found.sentence.startswith("LS-ECE is 0.")
    assert "miscalibrated (p < 0.001)" in found.sentence
    shown = ("noise floor", "p-value", "95 % interval", "decided by", "too high", "too low", "overconfident")
    for line in (*shown, "underconfident", "debiased", "standard error", "rows", "sigma"):
        assert f"\n  {line} " in repr(found)
    quiet = cal.assess(*sample(18, 800), sigma=SIGMA, level=0.9)
    assert "There is no evidence of miscalibration" in quiet.sentence
    assert "\n  90 % upper limit  below " in repr(quiet)


def test_it_is_a_float_that_keeps_and_travels() -> None:
    found = cal.assess(*sample(19, 200), n_resamples=20)
    assert float(found) == found.value == float(found.estimate)
    copy = pickle.loads(pickle.dumps(found))
    assert copy.to_dict() == found.to_dict()
    with pytest.raises(AttributeError):
        found.debiased = 0.0  # type: ignore[misc]
    keys = [
        "measure",
        "value",
        "numerical_bound",
        "sentence",
        "floor",
        "p_value",
        "unavailable",
        "interval",
        "debiased",
    ]
    keys += ["debias", "standard_error", "bias", "significant", "residual", "parts", "smoothing"]
    keys += ["n", "n_clusters", "per_class", "settings"]
    assert list(found.to_dict()) == keys
    assert set(found.to_dict()["interval"]) == {"lower", "upper", "level", "method", "is_upper_limit"}


@pytest.mark.parametrize("method", ["bias-aware", "influence", "normal", "percentile", "bca"])
def test_every_method_has_an_interval(method: Any) -> None:
    found = cal.assess(*sample(20, 500, 2.0), sigma=SIGMA, method=method)
    assert found.interval.method == method
    assert 0 <= found.interval.lower < found.interval.upper <= 1


def test_the_residual_form_decides() -> None:
    y, p = sample(25, 1000, 1.6)
    found, residual = cal.assess(y, p, sigma=SIGMA), cal.assess(y, p, measure="residual_ls_ece", sigma=SIGMA)
    assert found.residual is not None
    assert found.residual.to_dict() == residual.to_dict()
    assert found.residual.estimate.measure == "residual_ls_ece"
    assert found.residual.estimate.settings == found.estimate.settings
    decided = (residual.p_value, residual.significant, residual.debiased, residual.debias, residual.parts)
    assert (found.p_value, found.significant, found.debiased, found.debias, found.parts) == decided
    assert residual.residual is None
    assert residual.smoothing is None
    assert cal.assess(y, p, measure="smooth_ece", n_resamples=20).parts is None
    # Noise on the logits alone: the value were outcomes just as predicted.
    smoothing = Oracle(p)(p, np.full(1000, 1 / 1000))
    assert found.smoothing == pytest.approx(smoothing, rel=0.05)


def test_signed_parts_are_those_of_the_definition() -> None:
    y, p = sample(26, 1500, 1.8)
    parts = cal.assess(y, p, sigma=SIGMA).parts
    assert parts is not None
    oracle = Oracle(p)
    gap = ((y - p) / 1500) @ oracle.kernel
    away = np.where(GRID > 0, 1.0, -1.0)
    expected = {
        "too_high": np.maximum(-gap, 0).sum(),
        "too_low": np.maximum(gap, 0).sum(),
        "overconfident": np.maximum(-away * gap, 0).sum(),
        "underconfident": np.maximum(away * gap, 0).sum(),
    }
    for name, value in expected.items():
        part = getattr(parts, name)
        assert part.value == pytest.approx(value, abs=2e-3)
        assert part.interval.lower <= part.debiased <= part.interval.upper
        assert part.interval.method == "bias-aware"
    assert parts.overconfident.interval.lower > 0
    total = cal.residual_ls_ece(y, p, sigma=SIGMA)
    assert parts.too_high.value + parts.too_low.value == pytest.approx(total, abs=1e-4)
    assert parts.overconfident.value + parts.underconfident.value == pytest.approx(total, abs=1e-4)
    assert parts.to_dict()["too_low"]["interval"]["level"] == 0.95


def test_sure_predictions_that_came_true_are_not_miscalibrated() -> None:
    found = cal.assess([1] * 500, [1.0] * 500)
    assert found.significant is False
    assert "There is no evidence of miscalibration" in found.sentence
    assert "so this model is miscalibrated" not in found.sentence


@pytest.mark.parametrize("seed", range(5))
def test_an_upper_limit_is_not_nothing_beside_a_value(seed: int) -> None:
    found = cal.assess(*sample(500 + seed, 300), measure="beta_kde_ece", n_resamples=100)
    assert "below 0.000" not in found.sentence
    assert found.interval.upper > 0.0005


def test_sixty_groups_of_which_some_are_broken() -> None:
    rng = np.random.default_rng(0)
    p_values, broken = [], []
    for group in range(60):
        p = special.expit(rng.normal(0, 2, 200))
        is_broken = group % 20 == 0
        y = rng.random(200) < (1 - p if is_broken else p)
        found = cal.assess(y, p, sigma=0.3)
        assert found.p_value is not None
        p_values.append(found.p_value)
        broken.append(is_broken)
    # Holm: sorted, each times the number of those that are left.
    order = np.argsort(p_values)
    adjusted = np.empty(60)
    adjusted[order] = np.minimum(1, np.maximum.accumulate((60 - np.arange(60)) * np.sort(p_values)))
    assert (adjusted <= 0.05).tolist() == broken


def test_smoothing_alone_is_no_miscalibration() -> None:
    rng = np.random.default_rng(1)
    p = special.expit(rng.normal(0, 0.2, 2000))
    found = cal.assess(rng.random(2000) < p, p, sigma=0.5)
    assert found.significant is False
    assert found.value > 0.05
    assert found.smoothing is not None
    assert found.smoothing > 0.5 * found.value
    assert "smoothing alone" in found.sentence
    assert found.residual is not None
    assert found.residual.interval.upper < 0.05


def test_a_sketch_is_assessed_as_its_rows_are() -> None:
    y, p = sample(21, 3000, 1.6)
    sketch = cal.Sketch().update(y[:1000], p[:1000]).update(y[1000:], p[1000:])
    found, rows = sketch.assess(sigma=0.3), cal.assess(y, p, sigma=0.3)
    assert found.value == pytest.approx(rows.value, abs=2e-6)
    assert found.floor is not None
    assert rows.floor is not None
    assert found.floor.mean == pytest.approx(rows.floor.mean, abs=5 * rows.floor.deviation / math.sqrt(500))
    assert found.standard_error == pytest.approx(rows.standard_error, rel=0.02)
    assert found.interval.upper == pytest.approx(rows.interval.upper, rel=0.1)
    assert found.settings["resolution"] == 12


def test_binned_figures_of_a_sketch_are_assessed_too() -> None:
    y, p = sample(24, 2000, 1.6)
    sketch = cal.Sketch(n_bins=[10]).update(y, p)
    found = sketch.assess(measure="expected_calibration_error", n_bins=10)
    rows = cal.assess(y, p, measure="expected_calibration_error", n_bins=10)
    assert found.value == pytest.approx(rows.value, abs=1e-12)
    assert found.floor is not None
    assert rows.floor is not None
    assert found.floor.mean == pytest.approx(rows.floor.mean, abs=5 * rows.floor.deviation / math.sqrt(500))
    with pytest.raises(TypeError, match="clip is that of the sketch"):
        sketch.assess(clip=1e-9)
    with pytest.raises(cal.CalipersError, match="measure must be one that"):
        sketch.assess(measure="smooth_ece")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"cluster": [1, 2]}, "clusters must have one value for each row, got 2 values for 200 rows"),
        ({"cluster": [None] + [1] * 199}, "cluster in row 0 is missing"),
        ({"cluster": [1.0, math.nan] + [1.0] * 198}, "cluster in row 1 is missing"),
        ({"cluster": ["a", math.nan] + ["b"] * 198}, "cluster in row 1 is missing"),
        ({"cluster": np.ma.array([1] * 200, mask=[0, 0, 1] + [0] * 197)}, "cluster in row 2 is missing"),
        ({"cluster": np.zeros((200, 2))}, "clusters must have shape (n,), got (200, 2)"),
        (
            {"cluster": np.array([{}] * 200, dtype=object)},
            "clusters must be numbers, text or other values with a hash, got dict",
        ),
        ({"n_resamples": -1}, "n_resamples must be an integer from 0 to 2^64 - 1, got -1"),
        (
            {"measure": "brier_score", "method": "bias-aware"},
            "method must be normal, percentile or bca for a measure without influence values, got bias-aware",
        ),
    ],
)
def test_what_only_python_can_ask_is_refused_alike(options: dict[str, Any], text: str) -> None:
    with pytest.raises(cal.CalipersError) as refused:
        cal.assess(*sample(22, 200), **options)
    assert str(refused.value) == text


@pytest.mark.parametrize("name", sorted(NOT_ORDERED))
def test_a_measure_of_which_larger_is_not_worse_is_refused(name: str) -> None:
    with pytest.raises(cal.CalipersError, match="one for which a larger value is worse"):
        cal.assess(*sample(23, 200), measure=name)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"measure": 3}, "measure must be text, got int"),
        ({"n_bins": 10}, "ls_ece has no option 'n_bins', only sigma, noise, link, tolerance, clip"),
        ({"method": 1}, "method must be text or None, got int"),
        ({"debias": None}, "debias must be text, got NoneType"),
        ({"level": "high"}, "level must be a number, got str"),
        ({"n_resamples": 100.0}, "n_resamples must be an integer, got float"),
        ({"random_state": None}, "random_state must be an integer, got NoneType"),
    ],
)
def test_an_option_of_the_wrong_type_is_a_type_error(options: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeError) as refused:
        cal.assess([1, 0], [0.9, 0.2], **options)
    assert str(refused.value) == text

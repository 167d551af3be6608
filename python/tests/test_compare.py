"""Comparisons of models on the same rows, against numpy's paired resamples, and what they refuse."""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import calipers as cal
import numpy as np
import pytest
from cases import LEAVE_OUT, Doubles
from scipy import special, stats

SIGMA = 0.4
GRID = np.linspace(-12.0, 12.0, 1201)


def sample(seed: int, n: int) -> tuple[Doubles, dict[str, Doubles]]:
    """Outcomes of rho(h), and models that are calibrated, too sure, and surer still."""
    rng = np.random.default_rng(seed)
    h = np.clip(rng.normal(0.3, 1.2, n), -4.0, 4.0)
    y = (rng.random(n) < special.expit(h)).astype(float)
    return y, {"plain": special.expit(h), "sure": special.expit(1.5 * h), "surer": special.expit(2.0 * h)}


def paired_draws(y: Doubles, first: Doubles, second: Doubles, n_draws: int, sigma: float) -> Doubles:
    """The difference of residual LS-ECE over the same rows, drawn with replacement; first that of all rows."""
    n = len(y)
    shares = np.random.default_rng(5).multinomial(n, np.full(n, 1 / n), n_draws) / n
    shares[0] = 1 / n

    def residual_ls_ece(p: Doubles) -> Doubles:
        kernel = stats.norm.pdf(GRID, special.logit(p)[:, None], sigma) * (GRID[1] - GRID[0])
        values: Doubles = np.abs((shares * (y - p)) @ kernel).sum(axis=1)
        return values

    return residual_ls_ece(first) - residual_ls_ece(second)


def test_differences_are_those_of_paired_rows() -> None:
    y, models = sample(1, 800)
    found = cal.compare(y, models, sigma=SIGMA)
    assert [(pair.first, pair.second) for pair in found.pairs] == [
        ("plain", "sure"),
        ("plain", "surer"),
        ("sure", "surer"),
    ]
    assert found.compared_by.measure == "residual_ls_ece"
    sigma = found.compared_by.sigma
    assert sigma is not None
    assert sigma < SIGMA
    for pair in found.pairs:
        draws = paired_draws(y, models[pair.first], models[pair.second], 1500, sigma)
        measured = [cal.residual_ls_ece(y, models[name], sigma=sigma) for name in (pair.first, pair.second)]
        assert measured[0] - measured[1] == pytest.approx(draws[0], abs=1e-5)
        # Both take bias off, and not all of it: a calibrated model keeps up to half of its floor.
        floor = found.models["plain"].floor
        assert floor is not None
        assert pair.difference == pytest.approx(2 * draws[0] - draws[1:].mean(), abs=floor.mean)
        assert pair.interval.lower < pair.difference < pair.interval.upper
        assert pair.interval.method == "bias-aware"
        # That of the upper estimates. Where the rows show nothing these are linear, and more
        # cancels than in the sizes that are drawn here; where they pick different signs for two
        # models, less does. tests/significance has what follows from it: size and coverage.
        assert 0.5 < pair.standard_error / draws[1:].std() < 4


def test_models_are_compared_at_the_smaller_sigma() -> None:
    y, models = sample(1, 800)
    automatic = cal.compare(y, models, n_resamples=50)
    assert automatic.compared_by.sigma == pytest.approx(automatic.models["plain"].settings["sigma"], rel=1e-12)
    assert cal.compare(y, models, sigma=2.0, n_resamples=50).compared_by == automatic.compared_by
    smaller = cal.compare(y, models, sigma=0.05, n_resamples=50).compared_by
    assert smaller == cal.ComparedBy("residual_ls_ece", 0.05)
    other = cal.compare(y, models, measure="brier_score", n_resamples=50).compared_by
    assert other == cal.ComparedBy("brier_score", None)


def test_intervals_hold_the_difference_of_the_population() -> None:
    y, models = sample(100, 300_000)
    # Below the sigma that is chosen automatically, so that models are compared at it.
    sigma = 0.1
    truth = cal.residual_ls_ece(y, models["sure"], sigma=sigma) - cal.residual_ls_ece(y, models["surer"], sigma=sigma)
    held = 0
    for seed in range(60):
        y, models = sample(200 + seed, 800)
        two = {name: models[name] for name in ("sure", "surer")}
        [pair] = cal.compare(y, two, sigma=sigma, n_resamples=100, random_state=seed).pairs
        held += pair.interval.lower <= truth <= pair.interval.upper
    # 57 of 60 are expected; fewer than 51 have a probability of 0.005.
    assert held >= 51


def test_p_values_are_adjusted_by_holm() -> None:
    y, models = sample(2, 400)
    found = cal.compare(y, {**models, "half": special.expit(0.9 * special.logit(models["plain"]))}, sigma=SIGMA)
    p = np.array([pair.p_value for pair in found.pairs])
    order, m = p.argsort(), len(p)
    expected = np.empty(m)
    expected[order] = np.maximum.accumulate(np.minimum(1, (m - np.arange(m)) * p[order]))
    assert [pair.p_adjusted for pair in found.pairs] == pytest.approx(expected, abs=1e-12)


def test_models_are_assessed_at_one_sigma() -> None:
    y, models = sample(3, 500)
    found = cal.compare(y, models)
    sigmas = {assessment.settings["sigma"] for assessment in found.models.values()}
    assert len(sigmas) == 1
    [sigma] = sigmas
    for name, assessment in found.models.items():
        alone = cal.assess(y, models[name], sigma=sigma)
        assert assessment.value == pytest.approx(alone.value, abs=2e-6)
        assert assessment.interval.upper == pytest.approx(alone.interval.upper, abs=2e-5)


def test_equal_models_do_not_differ() -> None:
    y, models = sample(4, 300)
    [pair] = cal.compare(y, {"a": models["sure"], "b": models["sure"]}, n_resamples=50).pairs
    assert (pair.difference, pair.p_value) == (0, 1)
    # 300 rows on which two models agree do not show that they agree on all.
    assert pair.interval.upper == pytest.approx(-pair.interval.lower, abs=1e-12)
    assert pair.interval.upper >= np.log(40) / 300 - 1e-12


def test_equally_good_models_are_told_apart_about_as_often_as_asked() -> None:
    rejected = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        h = rng.normal(0, 1.2, 500)
        y = rng.random(500) < special.expit(h)
        # Both are wrong by as much, in opposite directions.
        models = {"up": special.expit(h + 0.6), "down": special.expit(h - 0.6)}
        rejected += cal.compare(y, models, sigma=SIGMA, n_resamples=100).pairs[0].p_value <= 0.05
    # Four of 80 are expected.
    assert rejected <= 11


def test_scores_make_no_claim_about_calibration() -> None:
    """A constant at the base rate is calibrated, and has a larger Brier score than a sharp model that is too sure."""
    y, models = sample(3, 2000)
    constant = np.full(len(y), y.mean())
    for measure, title in (("brier_score", "Brier score"), ("log_loss", "log loss")):
        found = cal.compare(y, {"constant": constant, "sure": models["sure"]}, measure=measure, n_resamples=50)
        assert found.sentence.startswith(f"sure has a smaller {title} than constant, by ")
        timid = cal.assess(y, 0.5 * (models["plain"] + y.mean()), measure=measure, n_resamples=50).sentence
        assert "evidence" not in timid
        assert "miscalibrated" not in timid


def test_any_measure_is_compared() -> None:
    y, models = sample(5, 400)
    found = cal.compare(y, models, measure="brier_score", n_resamples=200)
    [_, _, pair] = found.pairs
    losses = (models["sure"] - y) ** 2 - (models["surer"] - y) ** 2
    assert pair.difference == pytest.approx(losses.mean(), abs=1e-12)
    assert pair.standard_error == pytest.approx(losses.std() / math.sqrt(400), rel=0.2)
    binned = cal.compare(y, models, measure="expected_calibration_error", n_bins=10, n_resamples=50)
    assert binned.models["plain"].value == cal.expected_calibration_error(y, models["plain"], n_bins=10)


def test_models_of_several_classes_are_compared_by_their_own_top_class() -> None:
    rng = np.random.default_rng(6)
    scores = rng.normal(0, 1.5, (500, 3))
    labels = (scores + rng.gumbel(size=(500, 3))).argmax(axis=1)
    other = scores + rng.normal(0, 0.5, (500, 3))
    found = cal.compare(labels, {"plain": scores, "sure": 2 * other}, from_logits=True, sigma=0.3, n_resamples=100)
    assert found.models["sure"].value == pytest.approx(
        cal.ls_ece(labels, 2 * other, from_logits=True, sigma=0.3), abs=2e-6
    )
    assert found.models["sure"].settings["multiclass"] == "top_class"
    assert found.pairs[0].difference < 0


def test_forms_of_input_give_the_same() -> None:
    y, models = sample(7, 300)
    single = {name: p.astype(np.float32) for name, p in models.items()}
    expected = cal.compare(y, {name: p.astype(float) for name, p in single.items()}, sigma=0.3, n_resamples=50)
    for forms in (
        single,
        {name: p.astype(float).tolist() for name, p in single.items()},
        {name: np.column_stack([1 - p.astype(float), p]) for name, p in single.items()},
    ):
        found = cal.compare(y.astype(int).tolist(), forms, sigma=0.3, n_resamples=50)
        for ours, theirs in zip(found.pairs, expected.pairs, strict=True):
            assert ours.difference == pytest.approx(theirs.difference, abs=2e-6)


def test_clusters_and_weights_are_taken_along() -> None:
    y, models = sample(8, 200)
    number = np.arange(200)
    # Below the automatic sigma, which would be smaller for four times as many rows.
    once = cal.compare(y, models, sigma=0.05, cluster=number)
    copies = cal.compare(
        np.repeat(y, 4),
        {name: np.repeat(p, 4) for name, p in models.items()},
        sigma=0.05,
        cluster=[f"user {each}" for each in np.repeat(number, 4)],
    )
    for ours, theirs in zip(once.pairs, copies.pairs, strict=True):
        assert theirs.standard_error == pytest.approx(ours.standard_error, rel=0.15)
    assert copies.models["plain"].n_clusters == 200
    weighted = cal.compare(y, models, sigma=0.3, sample_weight=1 + number % 3, n_resamples=50)
    plain = cal.ls_ece(y, models["plain"], sigma=0.3, sample_weight=1 + number % 3)
    assert weighted.models["plain"].value == pytest.approx(plain, abs=2e-6)


def test_it_prints_as_a_sentence_and_tables_and_travels() -> None:
    y, models = sample(9, 300)
    found = cal.compare(y, models, sigma=0.3, n_resamples=100)
    lines = repr(found).splitlines()
    assert repr(found).startswith(found.sentence)
    assert found.pairs[0].sentence in found.sentence
    assert str(found.pairs[0]) == found.pairs[0].sentence
    assert lines[-1].startswith("  sure - surer")
    assert any(line.startswith("  plain ") for line in lines)
    written = json.loads(json.dumps(found.to_dict()))
    assert list(written) == ["sentence", "level", "models", "compared_by", "pairs"]
    assert written["pairs"][0]["first"] == "plain"
    assert written["models"]["sure"]["value"] == found.models["sure"].value
    assert pickle.loads(pickle.dumps(found)).to_dict() == found.to_dict()


def test_seeds_make_the_figures() -> None:
    y, models = sample(10, 200)
    first, again = (cal.compare(y, models, random_state=3, n_resamples=50).to_dict() for _ in range(2))
    assert first == again
    assert first != cal.compare(y, models, random_state=4, n_resamples=50).to_dict()


HOLES = [0.9, math.nan, 0.4, 0.2]


@pytest.mark.parametrize(
    ("models", "options", "text"),
    [
        ({}, {}, "models must be at least two, got 0"),
        ({"a": [0.9, 0.1, 0.4, 0.2]}, {}, "models must be at least two, got 1"),
        (
            {"a": [0.9, 0.1, 0.4, 0.2], "b": [0.9, 0.1]},
            {},
            'model "b": labels must have one value for each row, got 4 values for 2 rows',
        ),
        (
            {"a": [0.9, 0.1, 0.4, 0.2], "b": HOLES},
            {},
            f'model "b": probability in row 1 must be in [0, 1], got NaN{LEAVE_OUT}',
        ),
        (
            {"a": [0.9, 0.1, 0.4, 0.2], "b": HOLES},
            {"invalid": "count"},
            'rows must be the same for all models, got row 1 of "a" beside row 2 of "b"',
        ),
        (
            {"a": [0.9, 0.1, 0.4, math.nan], "b": [0.9, 0.1, 0.4, 0.2]},
            {"invalid": "count"},
            'rows must be the same for all models, got 3 of "a" and 4 of "b"',
        ),
        (
            {"a": [0.9, 0.1, 0.4, 0.2], "b": [0.9, 0.1, 0.4, 0.2]},
            {"cluster": [1, 2, 3]},
            "clusters must have one value for each row, got 3 values for 4 rows",
        ),
        ({"a": [0.9] * 4, "b": [0.8] * 4}, {"level": 1.5}, "level must be in [0.5, 1), got 1.5"),
    ],
)
def test_what_cannot_be_paired_is_refused(models: dict[str, Any], options: dict[str, Any], text: str) -> None:
    with pytest.raises(cal.CalipersError) as refused:
        cal.compare([1, 0, 1, 0], models, **options)
    assert str(refused.value) == text


@pytest.mark.parametrize(
    ("models", "options", "text"),
    [
        ([[0.9, 0.1], [0.8, 0.2]], {}, "y_prob must be a dict or a data frame of models by name, got list"),
        ({0: [0.9, 0.1], 1: [0.8, 0.2]}, {}, "the name of a model must be text, got int"),
        (
            {"a": [0.9, 0.1], "b": [0.8, 0.2]},
            {"bins": 3},
            "ls_ece has no option 'bins', only sigma, noise, link, tolerance, clip",
        ),
    ],
)
def test_an_argument_of_the_wrong_type_is_a_type_error(models: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeError) as refused:
        cal.compare([1, 0], models, **options)
    assert str(refused.value) == text

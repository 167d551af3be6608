"""Two samples that share no rows: what `drift` says of rows and of sketches."""

from __future__ import annotations

import json
from typing import Any

import calipers as cal
import numpy as np
import pytest
from numpy.typing import NDArray

Array = NDArray[Any]


def sample(n: int, shift: float, seed: int, mean: float = 0.0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    logits = rng.normal(mean, 2, n)
    return (rng.random(n) < 1 / (1 + np.exp(-logits - shift))).astype(int), 1 / (1 + np.exp(-logits))


def test_a_change_of_outcomes_is_found_and_one_of_predictions_is_not() -> None:
    before, shifted = sample(3000, 0.0, 1), sample(3000, 0.5, 2)
    found = cal.drift(before, shifted, n_resamples=200)
    assert found.significant and found.difference > 0 and found.p_value < 0.05
    assert found.curve.interval.lower < 0.5 < found.curve.interval.upper
    assert found.curve.odds_ratio == pytest.approx(np.exp(found.curve.log_odds))
    assert str(found) == found.sentence and found.sentence.startswith("Outcomes at equal predictions have changed")
    elsewhere = cal.drift(before, sample(3000, 0.0, 3, mean=1.0), n_resamples=200)
    assert not elsewhere.significant
    assert elsewhere.sentence.startswith("There is no evidence that outcomes at equal predictions have changed")


def test_parts_sum_to_the_change_as_measured() -> None:
    found = cal.drift(sample(4000, 0.0, 4), sample(4000, 0.4, 5, mean=0.5), sigma=0.2, n_resamples=50)
    assert found.origin is not None
    whole = found.after.value - found.before.value
    assert found.origin.predictions + found.origin.outcomes == pytest.approx(whole, abs=1e-12)
    assert json.loads(json.dumps(found.to_dict()))["origin"]["outcomes"] == found.origin.outcomes


def test_rows_predictions_and_sketches_are_samples() -> None:
    before, after = sample(2000, 0.0, 6), sample(2000, 0.3, 7)
    rows = cal.drift(before, after, n_resamples=100)
    read = cal.drift(cal.Predictions(*before), cal.Predictions(*after), n_resamples=100)
    assert rows.to_dict() == read.to_dict()
    for sides in (
        (cal.Sketch().update(*before), cal.Sketch().update(*after)),
        (cal.Predictions(*before), cal.Sketch().update(*after)),
    ):
        found = cal.drift(*sides, n_resamples=100)
        assert found.difference == pytest.approx(rows.difference, abs=1e-4)
        assert found.curve.log_odds == pytest.approx(rows.curve.log_odds, abs=1e-4)


def test_other_measures_and_their_options() -> None:
    before, after = sample(1500, 0.0, 8), sample(1500, 0.8, 9)
    found = cal.drift(before, after, measure="expected_calibration_error", n_bins=10, n_resamples=100)
    assert found.before.estimate.settings["n_bins"] == 10 and found.interval.lower > 0


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: cal.drift([0, 1], ([0, 1], [0.2, 0.8])), "a Sketch, or a tuple of y_true and y_prob, got list"),
        (lambda: cal.drift(cal.Sketch(), cal.Sketch(), clip=0.1), "clip is that of the sketch"),
        (lambda: cal.drift(sample(9, 0, 1), sample(9, 0, 2), bins=3), "has no option"),
        (lambda: cal.drift(sample(9, 0, 1), sample(9, 0, 2), level=2), "level"),
    ],
)
def test_what_cannot_be_compared_is_an_error(call: Any, says: str) -> None:
    with pytest.raises((TypeError, cal.CalipersError), match=says):
        call()


def test_clusters_of_both_samples_are_one() -> None:
    before, after = sample(400, 0.0, 10), sample(400, 0.5, 11)
    people = [f"p{row // 4}" for row in range(400)]
    found = cal.drift(before, after, sigma=0.3, n_resamples=100, cluster=(people, people[:200] + list(range(200))))
    assert found.n_shared_clusters == 50
    assert found.before.n_clusters == 100
    assert cal.drift(before, after, sigma=0.3, n_resamples=100).n_shared_clusters is None
    with pytest.raises(TypeError, match="cluster must be a pair"):
        cal.drift(before, after, cluster=people)  # type: ignore[arg-type]
    with pytest.raises(cal.CalipersError, match="left out for a sketch"):
        cal.drift(cal.Sketch().update(*before), after, sigma=0.3, cluster=(people, people))


def test_a_report_shows_what_has_changed() -> None:
    before, after = sample(400, 0.0, 12), sample(400, 1.0, 13)
    page = cal.report(*after, against=before, n_resamples=60)
    assert "Outcomes at equal predictions have changed since" in page.html
    assert "drift_1_model.svg" in page.charts

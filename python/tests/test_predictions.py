"""`Predictions` in place of two arrays, and the options of rows, which all functions share."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import calipers as cal
import numpy as np
import pytest
from calipers._row_options import ROW_DEFAULTS, MeasureOptions
from every_function import BRIEF, CLUSTER, FUNCTIONS, OF_CLASSES, WEIGHT, P, Q, Y, bits, required


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_takes_predictions_and_says_the_same(name: str) -> None:
    function: Any = getattr(cal, name)
    takes = inspect.signature(function).parameters
    options: dict[str, Any] = {option: value for option, value in BRIEF.items() if option in takes}
    if "cluster" in takes:
        options["cluster"] = CLUSTER
    options |= required(name)
    p = np.stack([1 - P, P], axis=1) if name in OF_CLASSES else P
    if name == "compare":
        first, second = (cal.Predictions(Y, each, sample_weight=WEIGHT) for each in (P, Q))
        found = cal.compare({"first": first, "second": second}, **options)
        expected = cal.compare(Y, {"first": P, "second": Q}, sample_weight=WEIGHT, **options)
    else:
        found = function(cal.Predictions(Y, p, sample_weight=WEIGHT), **options)
        expected = function(Y, p, sample_weight=WEIGHT, **options)
    assert bits(found) == bits(expected)


def test_a_sketch_takes_predictions() -> None:
    predictions = cal.Predictions(Y, P, sample_weight=WEIGHT)
    assert cal.Sketch().update(predictions) == cal.Sketch().update(Y, P, sample_weight=WEIGHT)


def test_a_report_takes_predictions_of_several_models() -> None:
    predictions = {"a": cal.Predictions(Y, P), "b": cal.Predictions(Y, Q)}
    page = cal.report(predictions, n_resamples=20)
    assert page.charts == cal.report(Y, {"a": P, "b": Q}, n_resamples=20).charts


def test_they_are_checked_when_they_are_made() -> None:
    with pytest.raises(cal.CalipersError, match="row 1") as refused:
        cal.Predictions([1, 0], [0.5, 1.5])
    assert refused.value.code == "invalid_probability"
    with pytest.raises(cal.CalipersError, match="at least one prediction"):
        cal.Predictions([], [])
    predictions = cal.Predictions([1, 0], [0.5, 1.5], invalid="count")
    assert (predictions.n, predictions.left_out) == (1, {"invalid probability": 1})
    assert repr(predictions) == "Predictions(n=1, left_out={'invalid probability': 1})"


def test_probabilities_that_are_left_out_are_an_error() -> None:
    with pytest.raises(cal.CalipersError, match=r"^probabilities must be numbers, got NoneType$"):
        cal.ls_ece([1, 0])


def test_they_survive_pickling() -> None:
    predictions = cal.Predictions(["a", "b"], [0.25, 0.5], pos_label="b")
    assert cal.brier_score(pickle.loads(pickle.dumps(predictions))) == cal.brier_score(predictions)


def test_streams_are_read_once() -> None:
    class Once:
        def __init__(self, values: list[float]) -> None:
            self.values: list[float] | None = values

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            values, self.values = self.values, None
            assert values is not None
            return np.array(values)

    predictions = cal.Predictions(Once([0, 1, 1]), Once([0.2, 0.7, 0.9]))
    assert cal.ls_ece(predictions, sigma=0.5) == cal.ls_ece([0, 1, 1], [0.2, 0.7, 0.9], sigma=0.5)
    assert cal.brier_score(predictions) == cal.brier_score([0, 1, 1], [0.2, 0.7, 0.9])


def test_options_of_a_binary_view_do_not_matter_to_functions_of_all_classes() -> None:
    scores = [[0.8, 0.2], [0.8, 0.2], [0.4, 0.6]]
    predictions = cal.Predictions([0, 1, 1], scores, multiclass="classwise", ties="any")
    assert cal.top_label_calibration_error(predictions) == cal.top_label_calibration_error([0, 1, 1], scores)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: cal.ls_ece(cal.Predictions(Y, P), P),
            "ls_ece() got y_prob beside Predictions, which already have it",
        ),
        (
            lambda: cal.mmce(cal.Predictions(Y, P), ties="any"),
            "mmce() got ties beside Predictions, which already have it",
        ),
        (
            lambda: cal.mmce(Y, P, weight=WEIGHT),  # type: ignore[call-arg]
            "mmce() got an unexpected keyword argument 'weight'; it takes link, sample_weight, from_logits, "
            "multiclass, ties, pos_label, classes, sum_tolerance, invalid",
        ),
        (
            lambda: cal.canonical_kde_ece(Y, P, bandwidth=0.1, ties="any"),  # type: ignore[call-arg]
            "canonical_kde_ece() got an unexpected keyword argument 'ties'; it takes bandwidth, norm, clip, limit, "
            "sample_weight, from_logits, classes, sum_tolerance, invalid",
        ),
        (
            lambda: cal.Sketch().update(Y, P, clip=0.1),  # type: ignore[call-arg]
            "Sketch.update() got an unexpected keyword argument 'clip'; it takes sample_weight, from_logits, "
            "multiclass, ties, pos_label, classes, sum_tolerance, invalid",
        ),
        (
            lambda: cal.Predictions(Y, P, link="probit"),  # type: ignore[call-arg]
            "Predictions() got an unexpected keyword argument 'link'; it takes sample_weight, from_logits, "
            "multiclass, ties, pos_label, classes, sum_tolerance, invalid",
        ),
        (
            lambda: cal.compare({"a": cal.Predictions(Y, P), "b": P}),  # type: ignore[dict-item]
            "compare() must get Predictions of 'b', got ndarray",
        ),
    ],
)
def test_what_is_asked_wrongly_is_a_type_error(call: Any, text: str) -> None:
    with pytest.raises(TypeError) as refused:
        call()
    assert str(refused.value) == text


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_unknown_keyword_is_a_type_error_with_what_there_is(name: str) -> None:
    p: Any = {"a": P, "b": Q} if name == "compare" else P
    with pytest.raises(TypeError, match=r"'sgima'.*\bsigma|'sgima'.*\blink|'sgima'.*sample_weight") as refused:
        getattr(cal, name)(Y, p, sgima=0.1, **required(name))
    # The options of the measure that is asked for by name are those of the measure.
    assert str(refused.value).startswith("ls_ece has no option" if name in ("assess", "compare") else f"{name}() got")


def test_models_are_compared_on_the_same_rows() -> None:
    with pytest.raises(ValueError, match=r"^predictions of 'b' must have the labels of the first model's$"):
        cal.compare({"a": cal.Predictions(Y, P), "b": cal.Predictions(1 - Y, P)})
    with pytest.raises(ValueError, match=r"^predictions of 'b' must have the weights of the first model's$"):
        cal.compare({"a": cal.Predictions(Y, P), "b": cal.Predictions(Y, P, sample_weight=WEIGHT)})
    with pytest.raises(ValueError, match=r"^predictions of 'b' must have the options of the first model's$"):
        cal.compare({"a": cal.Predictions(Y, P), "b": cal.Predictions(Y, P, invalid="count")})


def test_the_options_of_rows_have_one_list() -> None:
    assert set(ROW_DEFAULTS) == set(cal.RowOptions.__annotations__)


def test_the_options_of_all_measures_are_typed() -> None:
    options = {name for each in cal.measures() for name in each.options}
    assert options == set(MeasureOptions.__annotations__)


def test_an_interval_unpacks() -> None:
    found = cal.assess(Y, P, n_resamples=20)
    low, high = found.interval
    assert (low, high) == (found.interval.lower, found.interval.upper)

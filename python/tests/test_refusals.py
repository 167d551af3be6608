"""Every refusal of the shared table, with its exact text: the same from Rust, the command line and Python."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import calipers
import pytest
from cases import in_python
from hypothesis import given, settings
from hypothesis import strategies as st

TABLE = json.loads((Path(__file__).parents[2] / "fixtures" / "refusals.json").read_text(encoding="utf-8"))
CASES = [case for case in TABLE if "python" in case["surfaces"]]


def values(written: Any) -> Any:
    """JSON has no NaN and no infinities: the table writes them as text."""
    if isinstance(written, list):
        return [values(each) for each in written]
    return float(written) if written in ("nan", "inf", "-inf") else written


def sketch_merge(y_true: Any, y_prob: Any, *, sample_weight: Any, clip: float, other_clip: float) -> None:
    sketch, other = (
        calipers.Sketch(clip=each).update(y_true, y_prob, sample_weight=sample_weight) for each in (clip, other_clip)
    )
    sketch.merge(other)


def sketch_subtract(y_true: Any, y_prob: Any, *, sample_weight: Any, other: float) -> None:
    whole = calipers.Sketch().update(y_true, y_prob, sample_weight=sample_weight)
    whole - calipers.Sketch().update([1], [other])


def sketch_bytes(*_: Any, sample_weight: Any, bytes: str) -> None:  # noqa: A002, ARG001
    calipers.Sketch.from_bytes(bytes.encode())


def compare(y_true: Any, _: Any, *, sample_weight: Any, models: dict[str, Any], **options: Any) -> None:
    models = {name: values(probabilities) for name, probabilities in models.items()}
    calipers.compare(y_true, models, sample_weight=sample_weight, **options)


def map_json(*_: Any, sample_weight: Any, json: str) -> None:  # noqa: ARG001
    calipers.Recalibrator.from_json(json)


def monitor_json(*_: Any, sample_weight: Any, json: str) -> None:  # noqa: ARG001
    calipers.Monitor.from_json(json)


MEASURES: dict[str, Any] = {
    **vars(calipers),
    "sketch_merge": sketch_merge,
    "sketch_subtract": sketch_subtract,
    "sketch_bytes": sketch_bytes,
    "map_json": map_json,
    "monitor_json": monitor_json,
    "compare": compare,
}


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_refused_with_the_text_of_the_table(case: dict[str, Any]) -> None:
    measure = MEASURES[case["measure"]]
    with pytest.raises(calipers.CalipersError) as refused:
        measure(
            values(case["y_true"]),
            values(case["y_prob"]),
            sample_weight=values(case["sample_weight"]),
            **case["options"],
        )
    assert str(refused.value) == in_python(case)
    assert refused.value.code == case["code"]


def test_every_code_of_the_table_can_be_met_in_python() -> None:
    assert {case["code"] for case in CASES} == {case["code"] for case in TABLE}


def test_a_refusal_is_a_value_error_and_survives_pickling() -> None:
    with pytest.raises(ValueError, match="at least one prediction") as refused:
        calipers.ls_ece([], [])
    copy = pickle.loads(pickle.dumps(refused.value))
    assert (type(copy), str(copy), copy.code) == (calipers.CalipersError, str(refused.value), "no_rows")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"sigma": None}, 'sigma must be a number or "auto", got NoneType'),
        ({"noise": 1}, "noise must be text, got int"),
        ({"tolerance": "fine"}, "tolerance must be a number, got str"),
        ({"from_logits": "no"}, "from_logits must be True or False, got str"),
        ({"multiclass": 1.0}, "multiclass must be an integer, got float"),
        ({"multiclass": True}, "multiclass must be an integer, got bool"),
        ({"pos_label": [1]}, "pos_label must be text, a number or None, got list"),
    ],
)
def test_an_option_of_the_wrong_type_is_a_type_error(options: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeError) as refused:
        calipers.ls_ece([1, 0], [0.9, 0.2], **options)
    assert str(refused.value) == text


@pytest.mark.parametrize(
    ("measure", "options", "text"),
    [
        ("expected_calibration_error", {"n_bins": -1}, 'n_bins must be from 1 to 1000000, or "auto", got "-1"'),
        ("ls_ece_sampled", {"n_samples": -1}, "n_samples must be an integer from 0 to 2^64 - 1, got -1"),
        ("ls_ece_sampled", {"random_state": 2**64}, f"random_state must be an integer from 0 to 2^64 - 1, got {2**64}"),
        (
            "ls_ece",
            {"multiclass": -1},
            'multiclass must be "top_class", "classwise", "all_classes" or a class, got "-1"',
        ),
        (
            "ls_ece",
            {"multiclass": "best"},
            'multiclass must be "top_class", "classwise", "all_classes" or a class, got "best"',
        ),
        (
            "ls_curve",
            {"multiclass": "classwise"},
            'multiclass must be "top_class" or a class for one curve, table or sketch, got "classwise"',
        ),
        ("ls_curve", {"at": [0.5, 1.0]}, "at must be inside (0, 1), got 1"),
        ("ls_curve", {"at": 0.5}, "at must have shape (m,), got ()"),
    ],
)
def test_what_only_python_can_ask_is_refused_alike(measure: str, options: dict[str, Any], text: str) -> None:
    with pytest.raises(calipers.CalipersError) as refused:
        getattr(calipers, measure)([0, 1], [[0.2, 0.3, 0.5], [0.5, 0.25, 0.25]], **options)
    assert str(refused.value) == text


anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-1, 3),
    st.floats(),
    st.floats(0, 1),
    st.text(max_size=2),
    st.lists(st.floats(0, 1), max_size=3),
)
columns = st.one_of(
    anything,
    st.lists(anything, max_size=6),
    st.lists(st.integers(0, 2), min_size=4, max_size=4),
    st.lists(st.floats(0, 1), min_size=4, max_size=4),
    st.lists(st.lists(st.floats(-1, 2), min_size=3, max_size=3), min_size=4, max_size=4),
)
options = st.fixed_dictionaries(
    {},
    optional={
        "sigma": st.one_of(anything, st.sampled_from(["auto", 1e-3, 0.1, 10, 1e-300, 1e300])),
        "noise": st.sampled_from(["gaussian", "uniform", "laplace", "logistic", "epanechnikov", "none", 1]),
        "link": st.sampled_from(["logistic", "probit", "cloglog", "none", None]),
        "tolerance": st.one_of(anything, st.sampled_from([1e-12, 1e-3, 10.0])),
        "clip": st.one_of(anything, st.sampled_from([1e-300, 0.4])),
        "sample_weight": columns,
        "from_logits": st.booleans(),
        "multiclass": st.one_of(anything, st.sampled_from(["top_class", "classwise"])),
        "ties": st.sampled_from(["first", "any", "last"]),
        "pos_label": anything,
        "classes": st.one_of(anything, st.lists(anything, max_size=3), st.just([0, 1, 2]), st.just(["a", "b"])),
        "sum_tolerance": st.one_of(anything, st.just(1.0)),
        "invalid": st.sampled_from(["reject", "count", "drop"]),
    },
)


@settings(deadline=None, derandomize=True, max_examples=500)
@given(columns, columns, options)
def test_nothing_escapes_but_a_refusal(y_true: Any, y_prob: Any, options: dict[str, Any]) -> None:
    """A CalipersError for values, a TypeError for the type of an option; no other exception and no panic."""
    try:
        estimate = calipers.ls_ece(y_true, y_prob, **options)
    except (calipers.CalipersError, TypeError):
        return
    assert 0 <= estimate <= 1 + 1e-6
    assert estimate.numerical_bound <= options.get("tolerance", 1e-6)

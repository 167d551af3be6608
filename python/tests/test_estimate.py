"""An `Estimate` is a float, and knows how it was made."""

from __future__ import annotations

import copy
import csv
import io
import json
import math
import pickle

import calipers
import numpy as np
import pytest
from calipers import Estimate

Y_TRUE = [1, 0, 1, 1, 0]
Y_PROB = [0.9, 0.2, 0.6, 0.8, 0.0]
CLASSES = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.4, 0.4, 0.2]]


@pytest.fixture
def estimate() -> Estimate:
    return calipers.ls_ece(Y_TRUE, Y_PROB, sigma=0.5)


@pytest.fixture
def classwise() -> Estimate:
    return calipers.ls_ece([0, 1, 2], CLASSES, multiclass="classwise")


def test_it_is_a_float(estimate: Estimate) -> None:
    plain = float(estimate)
    assert type(plain) is float
    assert isinstance(estimate, float)
    assert estimate == plain
    assert hash(estimate) == hash(plain)
    assert estimate < 1
    assert type(estimate + 1) is float
    assert math.sqrt(estimate) == math.sqrt(plain)
    assert round(estimate, 3) == round(plain, 3)
    assert np.array([estimate]).dtype == np.float64
    assert np.isfinite(estimate)


def test_it_formats_and_serialises_as_the_plain_number(estimate: Estimate) -> None:
    plain = float(estimate)
    assert f"{estimate:.4f}" == f"{plain:.4f}"
    assert f"{estimate}" == str(estimate) == repr(plain)
    assert format(estimate, ".3e") == format(plain, ".3e")
    assert json.loads(json.dumps({"ece": estimate})) == {"ece": plain}
    written = io.StringIO()
    csv.writer(written).writerow([estimate])
    assert float(written.getvalue()) == plain


def test_its_repr_says_what_belongs_to_it() -> None:
    estimate = Estimate(
        0.03123456,
        measure="ls_ece",
        numerical_bound=8.04e-7,
        n=10_000,
        settings={"sigma": 0.12, "sigma_rule": "auto", "noise": "gaussian", "compat": None},
        n_clipped=3,
        left_out={"missing label": 2},
    )
    assert repr(estimate) == (
        "Estimate(0.0312346, numerical_bound=8e-07, n=10000, sigma=0.12, noise='gaussian', "
        "n_clipped=3, left_out={'missing label': 2})"
    )
    sampled = calipers.ls_ece_sampled(Y_TRUE, Y_PROB, sigma=0.5, n_samples=100, random_state=7)
    assert "standard_error=" in repr(sampled)
    assert "n_samples=100, random_state=7" in repr(sampled)


def test_it_carries_what_made_it(estimate: Estimate) -> None:
    assert estimate.measure == "ls_ece"
    assert 0 < estimate.numerical_bound <= 1e-6
    assert estimate.standard_error is None
    assert estimate.per_class is None
    assert (estimate.n, estimate.n_clipped, estimate.n_ties, estimate.n_rounded) == (5, 1, 0, 0)
    assert estimate.left_out == {}
    assert estimate.settings == {
        "sigma": 0.5,
        "sigma_rule": "given",
        "noise": "gaussian",
        "link": "logistic",
        "tolerance": 1e-6,
        "clip": 1e-6,
        "multiclass": None,
        "ties": "first",
        "from_logits": False,
        "pos_label": None,
        "classes": None,
        "sum_tolerance": 0.02,
        "invalid": "reject",
        "weighted": False,
    }


def test_settings_show_the_sigma_that_the_rule_chose() -> None:
    settings = calipers.ls_ece(Y_TRUE, Y_PROB).settings
    assert settings["sigma_rule"] == "auto"
    again = calipers.ls_ece(Y_TRUE, Y_PROB, sigma=settings["sigma"])
    assert again == calipers.ls_ece(Y_TRUE, Y_PROB)


def test_it_does_not_change(estimate: Estimate) -> None:
    with pytest.raises(AttributeError, match="cannot be changed"):
        estimate.n = 7
    with pytest.raises(AttributeError, match="cannot be changed"):
        estimate.note = "mine"
    with pytest.raises(AttributeError, match="cannot be changed"):
        del estimate.n


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_it_survives_pickling(classwise: Estimate, protocol: int) -> None:
    again = pickle.loads(pickle.dumps(classwise, protocol))
    assert type(again) is Estimate
    assert again.to_dict() == classwise.to_dict()
    assert isinstance(again.per_class, tuple)


def test_it_survives_copying(classwise: Estimate) -> None:
    assert copy.copy(classwise).to_dict() == classwise.to_dict()
    assert copy.deepcopy(classwise).to_dict() == classwise.to_dict()


def test_to_dict_is_ready_for_json(classwise: Estimate) -> None:
    plain = classwise.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["value"] == float(classwise)
    assert len(plain["per_class"]) == 3
    public = {name for name in Estimate.__slots__ if not name.startswith("_")}
    assert public == set(plain) - {"value"}


def test_counts_of_what_happened_to_the_input() -> None:
    tied = calipers.ls_ece([0, 1, 2], CLASSES)
    assert (tied.n_ties, tied.settings["multiclass"]) == (1, "top_class")
    rounded = calipers.ls_ece([0, 1, 1], [-1e-7, 1 + 1e-7, 0.5])
    assert (rounded.n_rounded, rounded.n_clipped) == (2, 2)
    counted = calipers.ls_ece([0, 1, 7, 1], [0.5, float("nan"), 0.5, 0.5], invalid="count")
    assert counted.left_out == {"invalid label": 1, "invalid probability": 1}
    assert counted.n == 2
